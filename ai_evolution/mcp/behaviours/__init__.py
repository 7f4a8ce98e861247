from ai_evolution.mcp.behaviours.subject import Ask, Call, Subject

__all__ = ["Ask", "Call", "Subject"]
