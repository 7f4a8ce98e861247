"""Submissions, rubric, exercise checks and gradebooks. Import the rooms; this page stays empty.

The exercise's host process imports this package before it lowers its rights: nothing heavy here.
"""
