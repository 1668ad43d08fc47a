def test_sorted():
    assert open("/app/sorted.txt").read() == "a 1\nb 2\nc 3\n"
