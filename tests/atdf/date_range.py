"""The article's tool, as the lab of class 131 has it."""

from ai_evolution.labs.dates import ANSWER, ENGLISH, SPANISH, WORDS, ahead, condition, date_range, document

__all__ = ["ANSWER", "ENGLISH", "SPANISH", "WORDS", "ahead", "condition", "date_range", "document"]
