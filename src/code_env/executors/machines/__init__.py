"""Runs programs on other machines, through commands; see `executor.py`. `e2b` and executors of your own build on it."""

from .executor import ENFORCED, MachineExecutor
from .faults import MachineFault, NoMachine
from .machine import Command, Listener, Machine, Machines
from .shell import ShellMachines

__all__ = [
    "ENFORCED",
    "Command",
    "Listener",
    "Machine",
    "MachineExecutor",
    "MachineFault",
    "Machines",
    "NoMachine",
    "ShellMachines",
]
