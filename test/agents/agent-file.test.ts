import { spawnSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, realpathSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { type AgentFolders, openAgentFile } from '../../src/agents/base/agent-file.ts'
import { afterwards } from '../support/afterwards.ts'

function scratch(): { readonly home: string; readonly place: AgentFolders } {
  const home = realpathSync(mkdtempSync(join(tmpdir(), 'hookspan-own-')))
  afterwards(() => rmSync(home, { recursive: true, force: true }))
  mkdirSync(join(home, 'sessions', 'deep'), { recursive: true })
  return { home, place: { folders: [home], uid: process.getuid?.() } }
}

async function mayRead(path: string, place: AgentFolders): Promise<boolean> {
  const file = await openAgentFile(path, place, 'sessions')
  await file?.close()
  return file !== undefined
}

test('opens a regular file of the user below the folder, also if the folder is a symlink', async () => {
  const { home, place } = scratch()
  const path = join(home, 'sessions', 'deep', 'a.jsonl')
  writeFileSync(path, '')
  expect(await mayRead(path, place)).toBe(true)
  const link = `${home}-link`
  symlinkSync(home, link)
  afterwards(() => rmSync(link))
  const linked = { ...place, folders: [link] }
  expect(await mayRead(join(link, 'sessions', 'deep', 'a.jsonl'), linked)).toBe(true)
})

test('rejects paths outside, symlinks, folders, pipes and files of other users', async () => {
  const { home, place } = scratch()
  const outside = join(home, 'secret.jsonl')
  writeFileSync(outside, '')
  symlinkSync(outside, join(home, 'sessions', 'link.jsonl'))
  symlinkSync(home, join(home, 'sessions', 'folder'))
  writeFileSync(join(home, 'sessions', 'a.jsonl'), '')
  const pipe = join(home, 'sessions', 'pipe.jsonl')
  expect(spawnSync('mkfifo', [pipe]).status).toBe(0)
  const inside = (name: string): string => `${home}/sessions/${name}`
  const wrong = [
    ...[outside, inside('../secret.jsonl'), inside('link.jsonl'), inside('folder/secret.jsonl'), inside('deep'), pipe],
    ...[inside('none.jsonl'), `${home}/sessions`, `${home}/sessionsX/a.jsonl`, 'sessions/a.jsonl', '', inside('a\0b')],
  ]
  for (const path of wrong) expect([path, await mayRead(path, place)]).toEqual([path, false])
  expect(await mayRead(inside('a.jsonl'), { ...place, uid: (place.uid ?? 0) + 1 })).toBe(false)
  expect(await mayRead(inside('a.jsonl'), place)).toBe(true)
})
