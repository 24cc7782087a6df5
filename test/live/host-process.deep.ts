import { tmpdir } from 'node:os'
import { expect, test } from 'vitest'
import { HostProcess } from './host-process.ts'

function shell(script: string, timeoutMillis = 20_000): HostProcess {
  const env = { PATH: '/usr/bin:/bin', MINE: 'yes' }
  return new HostProcess('/bin/sh', ['-c', script], { cwd: tmpdir(), env, timeoutMillis })
}

test('exchanges data, and reports its end', async () => {
  const host = shell('echo ready; read x; echo "got $x"; read y; echo "then $y" >&2; exit 3')
  await host.sees('ready')
  host.write('one\n')
  await host.sees('got one')
  expect(await host.end('two\n')).toEqual({ code: 3, stdout: 'ready\ngot one\n', stderr: 'then two\n' })
})

test('hides our environment', async () => {
  const { stdout } = await shell('env').end()
  // These a shell makes itself.
  const told = stdout
    .trimEnd()
    .split('\n')
    .filter(line => !/^(_|PWD|SHLVL|OLDPWD)=/.test(line))
  expect(told.toSorted()).toEqual(['MINE=yes', 'PATH=/usr/bin:/bin'])
})

test('ends with the processes that it has started', async () => {
  // Its pipes are those of the sleeper, too: they are closed when that has gone.
  expect(await shell('sleep 600 & echo started').end()).toMatchObject({ code: 0, stdout: 'started\n' })
})

test('is killed when it takes too long, with all processes that it has started', async () => {
  await expect(shell('sleep 600 & sleep 600', 50).end()).rejects.toThrow('was still running after 50 ms')
})

test('fails when a wait for an output ends without it', async () => {
  await expect(shell('echo no').sees('yes')).rejects.toThrow(/without having said yes[\s\S]*no/)
})

test('reports a program that does not exist', async () => {
  const host = new HostProcess('/nowhere', [], { cwd: tmpdir(), env: {} })
  await expect(host.end()).rejects.toThrow('ENOENT')
})
