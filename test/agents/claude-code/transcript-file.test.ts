import { execFileSync } from 'node:child_process'
import { mkdirSync, symlinkSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { expect, test } from 'vitest'
import type { AgentFolders } from '../../../src/agents/base/agent-file.ts'
import { agentFile, openFile } from '../../../src/agents/claude-code/transcript.ts'
import { scratchFolder } from './transcript.ts'

function place(folder: string, uid = process.getuid?.()): AgentFolders {
  return { folders: [folder], uid }
}

async function opens(path: string, where: AgentFolders): Promise<boolean> {
  const file = await openFile(path, where)
  await file?.close()
  return file !== undefined
}

test('opens the user’s transcript, also if the configuration folder is a symlink', async () => {
  const { folder, path } = scratchFolder()
  writeFileSync(path, '')
  expect(await opens(path, place(folder))).toBe(true)
  const link = join(dirname(folder), 'link')
  symlinkSync(folder, link)
  expect(await opens(join(link, 'projects', '-work', 's1.jsonl'), place(link))).toBe(true)
})

test('opens no other file', async () => {
  const { folder, project, path } = scratchFolder()
  const secret = join(folder, 'secret.jsonl')
  writeFileSync(secret, '')
  symlinkSync(secret, join(project, 'link.jsonl'))
  const outside = join(dirname(folder), 'outside')
  mkdirSync(outside)
  writeFileSync(join(outside, 'a.jsonl'), '')
  symlinkSync(outside, join(folder, 'projects', 'linked'))
  mkdirSync(join(project, 'folder.jsonl'))
  const hostile = [
    path,
    secret,
    join(project, 'link.jsonl'),
    join(folder, 'projects', 'linked', 'a.jsonl'),
    join(project, 'folder.jsonl'),
    `${project}/../../secret.jsonl`,
    `${project}/../../projects/-work/../../secret.jsonl`,
    join(`${folder}x`, 'projects', 'a.jsonl'),
    'projects/-work/s1.jsonl',
    '/etc/passwd',
    '/dev/zero',
    `${path}\0`,
    `${project}/${'a/'.repeat(3000)}s1.jsonl`,
    '',
  ]
  for (const one of hostile) expect(await opens(one, place(folder)), one).toBe(false)
})

test('does not block on a pipe', async () => {
  const { folder, path } = scratchFolder()
  execFileSync('mkfifo', [path])
  expect(await opens(path, place(folder))).toBe(false)
})

test('does not open a file of another user', async () => {
  const { folder, path } = scratchFolder()
  writeFileSync(path, '')
  expect(await opens(path, place(folder, (process.getuid?.() ?? 0) + 1))).toBe(false)
})

test('rejects agent ids that leave the folder', () => {
  expect(agentFile('/p/s1.jsonl', 'a1b2', '.jsonl')).toBe('/p/s1/subagents/agent-a1b2.jsonl')
  for (const id of ['../../x', 'a/b', '', 'a'.repeat(200), '.', 'a\0']) {
    expect(agentFile('/p/s1.jsonl', id, '.meta.json'), id).toBeUndefined()
  }
  expect(agentFile('/p/s1', 'a1', '.jsonl')).toBeUndefined()
})
