"""Makes a wheel of this folder for `pip install`. Nothing is fetched for it, and nothing has to be written here: it may be root's."""
import base64
import hashlib
import os
import tomllib
import zipfile

HERE = os.path.dirname(os.path.abspath(__file__))


def read(name):
    with open(os.path.join(HERE, name), "rb") as file:
        return file.read()


def build_wheel(wheel_directory, config_settings=None, metadata_directory=None):
    project = tomllib.loads(read("pyproject.toml").decode())["project"]
    package, version = project["name"].replace("-", "_"), project["version"]
    about, name = f"{package}-{version}.dist-info", f"{package}-{version}-py3-none-any.whl"
    modules = sorted(each for each in os.listdir(HERE) if each.endswith(".py") and each != os.path.basename(__file__))
    files = {f"{package}/{each}": read(each) for each in modules}
    files[f"{about}/METADATA"] = (
        f"Metadata-Version: 2.1\nName: {project['name']}\nVersion: {version}\nSummary: {project['description']}\n"
        f"License: {project['license']['text']}\nRequires-Python: {project['requires-python']}\n"
    ).encode()
    files[f"{about}/WHEEL"] = b"Wheel-Version: 1.0\nGenerator: hookspan\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
    files[f"{about}/RECORD"] = "".join([*(recorded(*each) for each in files.items()), f"{about}/RECORD,,\n"]).encode()
    with zipfile.ZipFile(os.path.join(wheel_directory, name), "w") as wheel:
        for path, content in files.items():
            wheel.writestr(path, content)
    return name


def recorded(path, content):
    digest = base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b"=").decode()
    return f"{path},sha256={digest},{len(content)}\n"
