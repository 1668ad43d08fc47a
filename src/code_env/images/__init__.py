"""Images: root file systems that programs run in, without a container engine.

A task names its image (`Task.image`): a directory with a root file system, an archive, a build file, or an image that a
container engine has or pulls. `prepare_images` puts it into the cache, before anything is judged. The `local` executor
shows a program the image's files, read-only, in place of this machine's, and the image's own Python runs it.
"""

from .cache import ImageCache
from .image import Image
from .preparing import prepare_images

__all__ = ["Image", "ImageCache", "prepare_images"]
