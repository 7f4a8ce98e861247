"""Looking into one folder and nowhere else: what is there, what is in a file, where a text occurs.

* ``folder``  the folder, closed: no way out of it, no links, nothing hidden, nothing without a limit
* ``tools``   the same as three tools under contract

It reads. It writes nothing, runs nothing and goes nowhere.
"""
