import pytest

from code_env.module_names import imported_modules, packages_of


@pytest.mark.parametrize(
    ("text", "modules"),
    [
        ("import a.b as c, d", {"a", "a.b", "d"}),
        ("from a.b import c", {"a", "a.b", "a.b.c"}),
        ("from a import *", {"a"}),
        ("from . import a\nfrom .b import c", set()),
        ("def f():\n    import a\n", {"a"}),
        ("import a\n???", set()),
        ("x = '\\d'\nimport a", {"a"}),
        ("\0", set()),
        ("", set()),
    ],
)
def test_what_a_text_imports(text, modules):
    assert imported_modules(text) == modules


def test_the_packages_of_modules():
    assert packages_of(["os.path", "PIL.Image", "sklearn", "cv2", "my_own_thing", "distutils.core"]) == (
        "my-own-thing",
        "opencv-python-headless",
        "pillow",
        "scikit-learn",
    )
    assert packages_of([]) == ()
