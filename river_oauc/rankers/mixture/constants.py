"""All constants of the rule.

A memory of n examples means that every new example takes a share of 1 / n in an average, so that
about the last n count.
"""

from __future__ import annotations

# Units -------------------------------------------------------------------------------------------

# Means and deviations follow a scaler or a drift within about a thousand examples, and later on
# within a tenth of the stream. While nothing changes, units are to be steady: moments gathered in
# old units go stale. When something does, a younger generation starts with units of its own.
UNITS_MEMORY = 1000
UNITS_SHARE = 0.1

# Values further from the mean than this many deviations update mean and deviation as if they were
# that far: a single outlier at most doubles the variance.
OUTLIER_DEVIATIONS = UNITS_MEMORY**0.5

# Standardised values never exceed this; closer to 0 they hardly change.
LARGEST_STANDARDIZED = 4.0

# The tails of a feature are heavy if the logarithm of its mean size is this far above the mean of
# the logarithms. It is 0.58 for exponential sizes, and 1.1 for log-normal ones of deviation 1.5.
# That is decided after 32, 64, ... and at last after 1,024 examples.
HEAVY_TAIL = 1.0
FIRST_TAILS, LAST_TAILS = 32, 1024

# The smallest scale of a feature with heavy tails: values are divided by it, and are 1e50 at most.
SMALLEST_SCALE = 1e-150

# Added to a variance before something is divided by it, so that a constant feature becomes 0.
SMALLEST_FEATURE_VARIANCE = 1e-200

# Matrices ----------------------------------------------------------------------------------------

# This many rank-one terms are added to a matrix in one product.
BATCH_SIZE = 32

# Linear experts ----------------------------------------------------------------------------------

# Strengths of the ridge penalty, relative to the variance of the features and to 1 / n.
RIDGE_STRENGTHS = (0.1, 10.0)

# The ridge expert over the most recent examples of each class: their number, and its strength.
RECENT_MEMORY = 20.0
RECENT_STRENGTH = 10.0

# Added to the diagonal of covariances, relative to the variance of the features: what rounding
# could take away.
JITTER = 1e-8

# In the place of the variance of features that do not vary at all.
SMALLEST_MEAN_VARIANCE = 1e-12

# Eigenvalues below this part of the largest are rounding errors.
EIGENVALUE_PRECISION = 1e-14

# Prior precision of the Newton expert, for the bias and for each feature.
NEWTON_BIAS_PRECISION = 1.0
NEWTON_PRECISION = 1.5

# How far a step of constant size goes towards its target.
TRACKING_RATE = 0.2
PAIRWISE_RATE = 0.15

# Kernel experts ----------------------------------------------------------------------------------

# Half of the landmarks are of each class, as soon as there are enough.
N_LANDMARKS = 256

# The first landmarks are chosen after this many examples, and anew whenever the number has doubled.
FIRST_LANDMARKS = 4

# Recent examples of each class that are kept to choose landmarks from.
N_CANDIDATES = 512

# Examples of each class whose distances set the widths of the kernels.
N_WIDTH_SAMPLE = 100

# The exponent of the Laplace kernel at the median distance; that of the Gaussian kernel is 1.
LAPLACE_EXPONENT = 0.7

# The relevance of a feature compares class histograms with this many bins.
N_BINS = 8

# No squared relevance is below this: every feature counts a little.
SMALLEST_SQUARED_RELEVANCE = 0.02

# Judge -------------------------------------------------------------------------------------------

# A new example is compared with this many recent ones of the other class.
N_COMPARED = 64

# The shares of the experts are set by about this many examples.
JUDGE_MEMORY = 2000

# Scores closer than this count as a part of a win. So rounding, which makes equal scores differ,
# decides nothing.
NEAR_TIE = 1e-4

# Shares are in proportion to exp(SHARPNESS · √n · win rate): win rates are known to about 1 / √n.
SHARPNESS = 4.0

# Change ------------------------------------------------------------------------------------------

# The ranking breaks if the win rate over this many examples is this far below the long-run rate,
# and that many examples of each class have been compared.
DROP_MEMORY = 100
LARGEST_DROP = 0.1
MIN_COMPARED_OF_EACH = 32

# The younger generation starts with this many recent examples.
N_REPLAYED = 100

# It is compared with the older one over this many examples, in which the two are mixed by their
# win rates over the latest ones.
TRIAL_LENGTH = 2000
TRIAL_MEMORY = 300

# A change is reported when the younger generation has this share, after this many comparisons. On
# a stationary stream the older one, which has seen more, is ahead.
CONFIRMED_SHARE = 0.75
MIN_COMPARED_TO_CONFIRM = 100

# Stack -------------------------------------------------------------------------------------------

# The weights of the scores before the first example. The mixture ranks well from the start, and its
# scores are near -1 and 1; those of trees and sparse expert are a few units apart.
PRIOR_WEIGHTS = {"mixture": 1.3, "trees": 0.2, "sparse": 0.2}

# About this many examples count: when an expert falls behind after a change, its weight follows.
STACK_MEMORY = 5000

# Precision of the prior weights, and of the bias, which is 0 before the first example. The first is
# worth about a dozen examples of the rarer class, so that a few positives hardly move the weights.
STACK_PRECISION, STACK_BIAS_PRECISION = 3.0, 1.0

# No example is taken to be more certain than this.
SMALLEST_STACK_VARIANCE = 1e-4

# No example counts as more, and no score as larger: otherwise rounding would leave nothing of the
# prior, and the equations could not be solved.
MAX_STACK_WEIGHT, MAX_STACK_SCORE = 1e4, 1e3

# Trees -------------------------------------------------------------------------------------------

# The number of stored examples of each class. More would sharpen the top of the list a little, and
# make pickles larger.
TREE_BUFFER = 10_000
