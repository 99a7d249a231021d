"""The numbers in the rule of a verdict that no policy sets, for the rule itself and for its power."""

import math

RULE = 1  # the number of the rule: it changes with every change of a verdict on the same record
# Largest p-values after Hommel of an apparent change that is worth confirming, and of a confirmed one, as
# multiples of the policy's. Anything tested at the end may be chosen generously before it.
WORTH_CONFIRMING, CONFIRMED = 4, 1 / 5
POWER = 0.8  # at the detectable change
BEYOND_DOUBT = {"provisional": 1, "refuted": 3}  # margins that a whole interval lies beyond
LASTING_MIN = 3  # A/A estimates; fewer say too little of how much they vary
DETECTABLE_MAX = math.log(1000)  # a thousandfold; larger ones count as this
