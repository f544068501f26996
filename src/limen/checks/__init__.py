"""Re-checks certificates: the only code a sceptic must read. It imports no producer."""
