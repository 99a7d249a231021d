"""The load engine beside sysbench: the same server, tables, statements and thread count, in alternating slices.

Prints the ratio of throughput and of the client's CPU per transaction, ours over sysbench's, each with its
interval. sysbench's start and end are outside of what is counted: it reports each second, and the first and
last are dropped.
"""

from __future__ import annotations

import argparse
import math
import os
import random
import re
import resource
import subprocess
import tempfile
from dataclasses import dataclass
from pathlib import Path

import msgspec
from rich.console import Console
from rich.table import Table

from shootout import dataset, machine, plan, settings, stats
from shootout._engine import Engine
from shootout.measure import server_directory
from shootout.places import cache
from shootout.servers import native
from shootout.servers.native import Instance, Tree
