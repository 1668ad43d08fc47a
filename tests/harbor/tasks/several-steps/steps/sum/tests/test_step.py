def test_sum():
    assert open("/app/sum.txt").read().strip() == "6"
    assert open("/app/sorted.txt").read().startswith("a 1")
