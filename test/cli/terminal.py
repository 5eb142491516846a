"""Runs a command in a terminal of its own: what comes on standard input is typed, what it shows goes to standard output."""
import os
import pty
import sys

status = pty.spawn(sys.argv[1:])
sys.exit(os.waitstatus_to_exitcode(status))
