"""The travel audit: whose approved travel of a quarter is above the budget? Data, and tools under contract.

* ``expenses``  the team, its budgets and its records, all drawn from one seed; the answer never changes
* ``tools``     the three tools with which one finds out, held to their descriptions

Everything is invented. The totals are fixed, so that an answer can be judged to the cent whatever the seed.
"""
