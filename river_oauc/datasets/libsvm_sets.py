"""The benchmark sets that come from LIBSVM."""

from __future__ import annotations

from river_oauc.datasets.base import BenchmarkDataset, Facts
from river_oauc.datasets.recipes import from_libsvm


class Splice(BenchmarkDataset):
    """Splice junctions in primate DNA.

    The features are 60 consecutive nucleotides, coded 1 to 4. The set is LIBSVM's training part.
    The positive class is the smaller one, LIBSVM's label -1. Negatives per positive: 1.07, as in
    the paper.

    """

    facts = Facts(
        n_samples=1_000, n_features=60, n_positives=483, paper_imbalance_ratio=1.07,
        size=714_000, sha256="f771833dcadb03e976a671be728946d7cfc4fff3ab0e228325b8c981802231fe",
    )  # fmt: skip
    recipe = from_libsvm("binary/splice", positive="-1")


class Australian(BenchmarkDataset):
    """Australian credit card applications.

    The positive class is LIBSVM's label +1. Negatives per positive: 1.25, as in the paper.

    """

    facts = Facts(
        n_samples=690, n_features=14, n_positives=307, paper_imbalance_ratio=1.25,
        size=92_421, sha256="1402e2ac97b2eb80aa4e449f31e8ceb1e2ad76cddeff5e441eab76a7c31ee40a",
    )  # fmt: skip
    recipe = from_libsvm("binary/australian", positive="1")


class Heart(BenchmarkDataset):
    """Patients with and without heart disease.

    The positive class is heart disease, LIBSVM's label +1. Negatives per positive: 1.25, as in the
    paper.

    """

    facts = Facts(
        n_samples=270, n_features=13, n_positives=120, paper_imbalance_ratio=1.25,
        size=32_522, sha256="5bf92ca2107a7f190610b5dc3af50253033a2695c9e8e2cfeb8aa45f72af60ef",
    )  # fmt: skip
    recipe = from_libsvm("binary/heart", positive="1")


class SVMGuide1(BenchmarkDataset):
    """Astroparticle events, from the practical guide of LIBSVM's authors.

    The 3,089 rows of the training part are followed by the 4,000 of the test part. The positive
    class is the smaller one, LIBSVM's label 0. Negatives per positive: 1.29, as in the paper.

    """

    facts = Facts(
        n_samples=7_089, n_features=4, n_positives=3_089, paper_imbalance_ratio=1.29,
        size=448_703, sha256="0f0696e1051b5becb2fd9295624d185feac41c5f91438c87d14ca4b8a9214baf",
    )  # fmt: skip
    recipe = from_libsvm("binary/svmguide1", "binary/svmguide1.t", positive="0")


class Fourclass(BenchmarkDataset):
    """Artificial points in the plane, in interleaved regions that no linear score separates.

    The positive class is LIBSVM's label +1. Negatives per positive: 1.81, as in the paper.

    """

    facts = Facts(
        n_samples=862, n_features=2, n_positives=307, paper_imbalance_ratio=1.81,
        size=24_144, sha256="59a54e38b99e685c4ffafee6c36ea32f03d8c2eefcffac5fc55854669eda7989",
    )  # fmt: skip
    recipe = from_libsvm("binary/fourclass", positive="1")


class Diabetes(BenchmarkDataset):
    """Pima women with and without diabetes.

    The positive class is diabetes (268 rows), LIBSVM's label -1. Negatives per positive: 1.87, as
    in the paper.

    """

    facts = Facts(
        n_samples=768, n_features=8, n_positives=268, paper_imbalance_ratio=1.87,
        size=66_342, sha256="a9adef13b620e99d3f91eb72caadbba9e9f939908675f4ff4f0ab8012e69c3e9",
    )  # fmt: skip
    recipe = from_libsvm("binary/diabetes", positive="-1")


class German(BenchmarkDataset):
    """German bank customers as credit risks.

    The features are those of the numeric version. The positive class is bad credit, LIBSVM's label
    +1. Negatives per positive: 2.33, as in the paper.

    """

    facts = Facts(
        n_samples=1_000, n_features=24, n_positives=300, paper_imbalance_ratio=2.33,
        size=212_701, sha256="436ae726694623caca8c69e6a0397814cb2e3e789c3eb1cd8a0cd6aacb804a60",
    )  # fmt: skip
    recipe = from_libsvm("binary/german.numer", positive="1")


class Vehicle(BenchmarkDataset):
    """Silhouettes of four kinds of vehicles.

    The values are scaled to [-1, 1]. The positive class is LIBSVM's class 2, the only one with the
    paper's ratio; judging by its size, it is Saab. Negatives per positive: 2.90, as in the paper.

    """

    facts = Facts(
        n_samples=846, n_features=18, n_positives=217, paper_imbalance_ratio=2.90,
        size=180_523, sha256="679ab933d91b33a9ec935bf32e03ebbdb4bb8382b8f07be03b0ebc8697cc49b1",
    )  # fmt: skip
    recipe = from_libsvm("multiclass/vehicle.scale", positive="2")


class SVMGuide3(BenchmarkDataset):
    """Vehicle data, from the practical guide of LIBSVM's authors.

    The 1,243 rows of the training part are followed by the 41 of the test part. LIBSVM's 22nd
    feature is zero in every row and is left out. The positive class is LIBSVM's label +1.

    Negatives per positive: 2.81, where the paper has 3.34. LIBSVM's labels give 296 positives in
    the training part and 41 in the test part. The paper's ratio implies 296 in total, so the test
    part must have been counted as negative, although it only repeats positive rows of the training
    part. The labels here are LIBSVM's.

    """

    facts = Facts(
        n_samples=1_284, n_features=21, n_positives=337, paper_imbalance_ratio=3.34,
        size=287_905, sha256="a0ab1944d205f45ec16a7460006465efdc43bcdc158100f67b2c49d2d4e3e8f4",
    )  # fmt: skip
    recipe = from_libsvm("binary/svmguide3", "binary/svmguide3.t", positive="1")


class SVMGuide2(BenchmarkDataset):
    """Bioinformatics data, from the practical guide of LIBSVM's authors.

    The positive class is LIBSVM's class 3, the smallest of three. Negatives per positive: 6.38, as
    in the paper.

    """

    facts = Facts(
        n_samples=391, n_features=20, n_positives=53, paper_imbalance_ratio=6.38,
        size=163_925, sha256="a6ec2993fdc3f3cbcf15c3b157e069430ba4c64ec3f88ade7ea6f85b59a753d4",
    )  # fmt: skip
    recipe = from_libsvm("multiclass/svmguide2", positive="3")


class Letter(BenchmarkDataset):
    """Images of capital letters, described by 16 numbers.

    The set is LIBSVM's training part, scaled to [-1, 1]. The positive class is the letter H,
    LIBSVM's class 8, the smallest of 26. Negatives per positive: 26.88, as in the paper.

    """

    facts = Facts(
        n_samples=15_000, n_features=16, n_positives=538, paper_imbalance_ratio=26.88,
        size=2_620_491, sha256="50e770f0453ef756bff425fcf0da19d40ae78b562835d5154543b9c85f413bc3",
    )  # fmt: skip
    recipe = from_libsvm("multiclass/letter.scale", positive="8")
