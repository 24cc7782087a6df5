import { run } from './run.mjs'

/** Some minutes, on a machine that has nothing else to do. */
const BUILD_MILLIS = 40 * 60_000
/** No C compiler is needed; nothing of this machine is in the program. */
const ENV = { CGO_ENABLED: '0', GOFLAGS: '-buildvcs=false -trimpath', GOWORK: 'off' }

/**
 * Where a version of a module is, fetched if need be.
 *
 * @param sum as a go.sum has it; absent = whatever the proxy gives
 */
export async function moduleFolder(module, version, sum) {
  const answer = await run('go', ['mod', 'download', '-json', `${module}@${version}`], { env: ENV })
  const { Dir: folder, Sum: found } = JSON.parse(answer)
  if (sum !== undefined && found !== sum) throw new Error(`${module}@${version} should be ${sum}, but is ${found}`)
  return folder
}

/**
 * Builds a program in a folder that has a go.mod.
 *
 * @param source the folder: a module of the cache may be built in place, with exactly the versions its go.sum names
 * @param target the program to write
 * @param tags Go's build tags
 * @param variables Go variables that are set by the linker: `{ 'path/of/package.name': 'value' }`
 */
export async function build(source, { target, packagePath = '.', variables = {}, tags = [] }) {
  const settings = Object.entries(variables).map(([name, value]) => `-X ${name}=${value}`)
  const options = ['-mod=readonly', '-tags', tags.join(','), '-ldflags', ['-s', '-w', ...settings].join(' ')]
  const args = ['build', ...options, '-o', target, packagePath]
  await run('go', args, { cwd: source, env: ENV, timeoutMillis: BUILD_MILLIS })
  return target
}
