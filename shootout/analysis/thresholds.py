"""The numbers in the rule of a verdict that no policy sets, for the rule itself and for its power."""

import math

# Largest p-values after Hommel of an apparent change that is worth confirming, and of a confirmed one, as
# multiples of the policy's. What is tested at the end may be chosen generously before it.
WORTH_CONFIRMING, CONFIRMED = 4, 1 / 5
CONFIRMING_BAR = 1 / 2  # of the bar; fresh starts alone are few
POWER = 0.8  # at the detectable change
DETECTABLE_MAX = math.log(1000)  # a thousandfold; larger ones count as this
