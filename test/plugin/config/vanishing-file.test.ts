/** A configuration file whose folder can no longer be entered once it has been read. */
import fs, { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { resolveConfig } from '../../../src/plugin/config/resolve.ts'
import { afterwards } from '../../support/afterwards.ts'
import { replaceBuiltin } from '../../support/replaced-builtin.ts'

let isRead = false

replaceBuiltin(fs, ({ readFileSync, statSync }) => ({
  readFileSync: ((...args: Parameters<typeof readFileSync>) => {
    isRead ||= String(args[0]).endsWith('vanishing.yaml')
    return readFileSync(...args)
  }) as typeof readFileSync,
  statSync: ((...args: Parameters<typeof statSync>) => {
    if (isRead) throw Object.assign(new Error('refused'), { code: 'EACCES' })
    return statSync(...args)
  }) as typeof statSync,
}))

test('is used as it was read, and throws nothing', () => {
  const folder = mkdtempSync(join(tmpdir(), 'hookspan-config-'))
  afterwards(() => rmSync(folder, { recursive: true, force: true }))
  const file = join(folder, 'vanishing.yaml')
  writeFileSync(file, 'debug: true\n', { mode: 0o600 })
  const { config, problems } = resolveConfig({ env: { HOOKSPAN_CONFIG: file }, home: folder })
  expect([config.debug, problems]).toEqual([true, []])
})
