import configparser


def test_config():
    parser = configparser.ConfigParser()
    parser.read("/etc/tool.ini")
    assert dict(parser["pool"]) == {"workers": "8", "queue": "20"}
    assert dict(parser["log"]) == {"level": "info"}
