"""Python imports this at its start when the folder is in PYTHONPATH; see ``offline_guard``."""

import offline_guard

offline_guard.install()
