"""Makes ready the images that tasks name."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterable

from code_env.caches import MAX_BYTES

from .cache import ImageCache
from .image import Image


def prepare_images(
    sources: Iterable[str],
    *,
    cache: ImageCache | None = None,
    max_bytes: int = MAX_BYTES,
    network: bool = False,
    progress: Callable[[int, int, str], object] = lambda done, total, what: None,
) -> tuple[list[Image], int]:
    """Unpack, build or pull images into the cache. Images that are there already are not made again.

    Afterwards images that were not used for long are removed if the cache has become too large, but none of these.

    Args:
        sources: Their paths or names, as tasks name them.
        cache: Where to unpack; the user's cache by default.
        max_bytes: How large the cache of images may become, and that of layers too, in bytes.
        network: Whether the RUN steps of build files may reach the network.
        progress: Called before each image with how many are done, how many there are, and what comes next.

    Returns:
        The images, each once, and how many of them were made now.

    Raises:
        ImageError: If one cannot be read, built or pulled, or the cache cannot be written.
    """
    cache, wanted = cache or ImageCache(), list(dict.fromkeys(sources))
    images, made = [], 0
    with contextlib.ExitStack() as held:
        for number, source in enumerate(wanted):
            progress(number, len(wanted), source)
            image, is_new = cache.prepare(source, network=network)
            if image.key:
                held.enter_context(cache.hold(image))
            made += is_new
            images.append(image)
        progress(len(wanted), len(wanted), "")
        if made:
            cache.prune(max_bytes)
            cache.layers.prune(max_bytes)
    return images, made
