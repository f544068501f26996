"""`eva`: a table of symbols, asked at its places."""

from limen.training.lessons._addresses import Addresses

LESSON = Addresses
