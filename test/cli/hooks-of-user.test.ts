import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { hooksOfUser } from '../../src/cli/commands/serve.ts'
import { HOOKS_DEFAULT } from '../../src/plugin/config/hooks.ts'
import { afterwards } from '../support/afterwards.ts'

const NO_RM = `export default { name: 'no-rm', beforeTool: () => ({ decision: 'block', reason: 'No.' }) }\n`

/** A home, and the folder of its hooks with these files, where there are any. */
function homeWith(files: Readonly<Record<string, string>> = {}): string {
  const home = mkdtempSync(join(tmpdir(), 'hookspan-hooks-'))
  afterwards(() => rmSync(home, { recursive: true, force: true }))
  const folder = join(home, '.config', 'hookspan', 'hooks')
  if (Object.keys(files).length > 0) mkdirSync(folder, { recursive: true, mode: 0o700 })
  for (const [name, text] of Object.entries(files)) writeFileSync(join(folder, name), text, { mode: 0o600 })
  return home
}

test("loads the user's folder in the receiver", async () => {
  const home = homeWith({ 'no-rm.mjs': NO_RM })
  const found = await hooksOfUser({ hooks: undefined }, { env: {}, home })
  afterwards(() => found?.close())
  expect([found?.hooks?.hooks.map(({ name }) => name), found?.lines]).toEqual([['no-rm'], []])
})

test('reports a broken file in a line', async () => {
  const home = homeWith({ 'no-rm.mjs': NO_RM, 'other.mjs': 'export default {' })
  const found = await hooksOfUser({ hooks: undefined }, { env: {}, home })
  afterwards(() => found?.close())
  expect(found?.hooks?.hooks).toHaveLength(1)
  expect(found?.lines.join('\n')).toMatch(/other\.mjs is not loaded/)
})

test('reports a missing folder if configured, and is silent otherwise', async () => {
  const home = homeWith()
  const named = { ...HOOKS_DEFAULT, global_dir: join(home, 'mine') }
  expect(await hooksOfUser({ hooks: undefined }, { env: {}, home })).toBeUndefined()
  const found = await hooksOfUser({ hooks: named }, { env: {}, home })
  expect(found?.lines).toEqual([`hooks: there are no hooks in ${join(home, 'mine')}, which hooks.global_dir names`])
})

test('loads none if switched off', async () => {
  const home = homeWith({ 'no-rm.mjs': NO_RM })
  expect(await hooksOfUser({ hooks: { ...HOOKS_DEFAULT, enabled: false } }, { env: {}, home })).toBeUndefined()
})
