import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { delimiter, join } from 'node:path'
import { run } from './run.mjs'

/** Asked by the scripts of Debian's packages before they start a service; 101 = do not. */
const POLICY = '/usr/sbin/policy-rc.d'
const NO_SERVICES = '#!/bin/sh\nexit 101\n'

/** The path of a program, or nothing. */
export function findProgram(name) {
  const folders = (process.env.PATH ?? '').split(delimiter)
  return folders.map(folder => join(folder, name)).find(existsSync)
}

/**
 * Installs Debian packages, without starting the servers in them.
 *
 * @throws when this is no Debian, or we may not
 */
export async function installDebian(packages) {
  if (findProgram('apt-get') === undefined)
    throw new Error(`there is no apt-get to install ${packages.join(', ')} with`)
  await withoutServices(async () => {
    await asRoot('apt-get', ['update', '-qq'])
    await asRoot('env', ['DEBIAN_FRONTEND=noninteractive', 'apt-get', ...INSTALL, ...packages])
  })
}

/** The lock of dpkg is waited for: others install on the same machine. */
const INSTALL = ['install', '-qq', '-y', '--no-install-recommends', '-o', 'DPkg::Lock::Timeout=300']

/** The version of a package that is installed. */
export async function debianVersion(name) {
  return (await run('dpkg-query', ['--show', `--showformat=\${Version}`, name])).trim()
}

async function withoutServices(work) {
  if (existsSync(POLICY)) return await work()
  const scratch = mkdtempSync(join(tmpdir(), 'hookspan-policy-'))
  try {
    const policy = join(scratch, 'policy-rc.d')
    writeFileSync(policy, NO_SERVICES)
    await asRoot('install', ['-m', '755', policy, POLICY])
    await work()
  } finally {
    rmSync(scratch, { recursive: true, force: true })
    await asRoot('rm', ['-f', POLICY])
  }
}

function asRoot(program, args) {
  return process.getuid?.() === 0 ? run(program, args) : run('sudo', ['-n', program, ...args])
}
