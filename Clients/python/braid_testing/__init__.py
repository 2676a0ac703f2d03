"""Braid Server in Python tests: a server, a client, faults, and a record of the requests that the server received.
`braid_testing.plugin` is the pytest plugin, and `braid_testing.containers` is a module for testcontainers.
"""
from . import fault
from .client import Answer, BraidClient, Session
from .following import Event, Subscription
from .server import Server
from .test_mode import Clock, Faults, Requests, VerificationFailed
from .updates import Row, Section, Snapshot, Stage, Update, UpdateFault, applying, stages
from .wire import ConnectionLost, Problem, position

__all__ = [
    "Answer", "BraidClient", "Clock", "ConnectionLost", "Event", "Faults", "Problem", "Requests", "Row", "Section", "Server",
    "Session", "Snapshot", "Stage", "Subscription", "Update", "UpdateFault", "VerificationFailed", "applying", "fault",
    "position", "stages",
]
