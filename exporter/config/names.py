"""What is called how where a configuration is given, and the defaults that a command line names.

Apart from what reads a configuration, which a command line that is only parsed does not need.
"""

from __future__ import annotations

from typing import Literal, get_args

PREFIX = "STEWARD_"
CONFIG_VARIABLE = "STEWARD_CONFIG"
FLAGS = {
    "listen": "--listen",
    "insecure": "--insecure",
    "kubeconfig": "--kubeconfig",
    "context": "--context",
    "logLevel": "--log-level",
}
LISTEN = "127.0.0.1:9877"
LogLevel = Literal["debug", "info", "warning", "error"]
LOG_LEVELS: tuple[LogLevel, ...] = get_args(LogLevel)
LOG_LEVEL: LogLevel = "warning"
QUIET = "critical"  # of what is for a person, who gets sentences
