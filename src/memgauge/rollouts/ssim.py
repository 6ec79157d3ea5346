"""Structural similarity of two RGB images (Wang et al. 2004), at the scale at which it was meant to be taken."""

from __future__ import annotations

from typing import Any

import numpy as np

from memgauge.rollouts.video import Image

SIDE = 256
_RADIUS = 5
_SIGMA = 1.5
_C1 = (0.01 * 255.0) ** 2
_C2 = (0.03 * 255.0) ** 2


def shrink(image: Image) -> Image:
    """Return the image averaged over squares of k pixels, k = round(shorter side / 256), at least 1.

    The authors of SSIM take it so, since it is meant for the scale at which a viewer sees the whole picture.
    """
    import cv2

    factor = max(1, round(min(image.shape[:2]) / SIDE))
    if factor == 1:
        return image
    size = (max(image.shape[1] // factor, 1), max(image.shape[0] // factor, 1))
    small: Image = cv2.resize(image, size, interpolation=cv2.INTER_AREA)
    return small


def ssim(first: Image, second: Image) -> float:
    """Return the mean SSIM over pixels and channels of two images of one size, [H, W, 3].

    Gaussian window of 11 pixels with sigma 1.5, K1 = 0.01, K2 = 0.03, population variances, window inside the image
    (images smaller than a window are reflected at their edges).

    >>> flat = np.full((32, 32, 3), 128, dtype=np.uint8)
    >>> ssim(flat, flat)
    1.0
    """
    if first.shape != second.shape:
        raise ValueError(f"images of one size are compared, got {first.shape} and {second.shape}")
    x, y = first.astype(np.float32), second.astype(np.float32)
    mean_x, mean_y = _window(x), _window(y)
    square_x, square_y, product = mean_x * mean_x, mean_y * mean_y, mean_x * mean_y
    variance_x, variance_y = _window(x * x) - square_x, _window(y * y) - square_y
    covariance = _window(x * y) - product
    value = ((2 * product + _C1) * (2 * covariance + _C2)) / (
        (square_x + square_y + _C1) * (variance_x + variance_y + _C2)
    )
    height, width = value.shape[:2]
    top, left = min(_RADIUS, (height - 1) // 2), min(_RADIUS, (width - 1) // 2)
    return float(value[top : height - top, left : width - left].mean(dtype=np.float64))


def _window(image: Any) -> Any:
    import cv2

    size = 2 * _RADIUS + 1
    return cv2.GaussianBlur(image, (size, size), _SIGMA, borderType=cv2.BORDER_REFLECT_101)
