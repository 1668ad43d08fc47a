"""Images: root file systems that programs run in, without a container engine.

A task names its image (`Task.image`): a directory with a root file system, or an archive. `prepare_images` unpacks
archives into the cache, before anything is judged. The `local` executor shows a program the image's files, read-only,
in place of this machine's, and the image's own Python runs it.
"""

from .cache import Image, ImageCache, prepare_images

__all__ = ["Image", "ImageCache", "prepare_images"]
