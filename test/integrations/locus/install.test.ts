import { cpSync, mkdirSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import packageJson from '../../../package.json' with { type: 'json' }
import { describePython, SHIM, ShimScene } from './scene.ts'

/** As `pip` does: the backend that `pyproject.toml` names makes a wheel elsewhere, and what is imported comes out of that. */
const INSTALLS = `
import hashlib, base64, tomllib, zipfile
with open(os.path.join(SOURCE, "pyproject.toml"), "rb") as file:
    system = tomllib.load(file)["build-system"]
assert system["requires"] == [] and system["backend-path"] == ["."], system
sys.path.insert(0, SOURCE)
name = importlib.import_module(system["build-backend"]).build_wheel(WHEELS)
sys.path[0] = os.path.join(WHEELS, name)
with zipfile.ZipFile(sys.path[0]) as wheel:
    info = name.removesuffix("-py3-none-any.whl") + ".dist-info/"
    rows = [line.split(",") for line in wheel.read(info + "RECORD").decode().splitlines()]
    for path, digest, size in rows[:-1]:
        given = base64.urlsafe_b64encode(hashlib.sha256(wheel.read(path)).digest()).decode().rstrip("=")
        assert (digest, int(size)) == ("sha256=" + given, wheel.getinfo(path).file_size), path
    assert sorted(row[0] for row in rows) == sorted(wheel.namelist())
    files, metadata = wheel.namelist(), wheel.read(info + "METADATA").decode()
del sys.modules["hookspan_locus"]
import hookspan_locus
print(json.dumps([name, files, metadata, hookspan_locus.__file__, hookspan_locus.create_hook().name]))
`

describePython('pip install', () => {
  test('needs no network, and writes nothing beside the sources', async () => {
    const scene = new ShimScene()
    const [source, wheels] = [join(scene.home, 'locus'), join(scene.home, 'wheels')]
    cpSync(SHIM, source, { recursive: true, filter: path => !path.endsWith('__pycache__') })
    mkdirSync(wheels)
    const before = readdirSync(source)
    const places = `SOURCE, WHEELS = ${JSON.stringify(source)}, ${JSON.stringify(wheels)}\n`
    const { printed } = await scene.play(places + INSTALLS)
    const [name, files, metadata, module, hook] = JSON.parse(printed) as [string, string[], string, string, string]
    expect(name).toBe(`hookspan_locus-${packageJson.version}-py3-none-any.whl`)
    const modules = ['__init__', 'agents', 'plain', 'receiver', 'runs', 'tools']
    expect(files.filter(path => path.endsWith('.py'))).toEqual(modules.map(each => `hookspan_locus/${each}.py`))
    expect(metadata).toContain(`\nName: hookspan-locus\nVersion: ${packageJson.version}\n`)
    expect(metadata).toContain('\nRequires-Python: >=3.11\n')
    expect(module).toBe(join(wheels, name, 'hookspan_locus', '__init__.py'))
    expect(hook).toBe('hookspan')
    expect(readdirSync(source)).toEqual(before)
  })
})
