import { appendFileSync } from 'node:fs'
import fs from 'node:fs/promises'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { replaceBuiltin } from '../support/replaced-builtin.ts'
import { InitScene } from './init-scene.ts'

/** What the file system does not let us do; root may do everything, so it has to be played. */
const refused = { call: '', code: '', before: () => undefined as unknown }

replaceBuiltin(fs, real => {
  const refusing = <Args extends unknown[], Result>(name: string, call: (...args: Args) => Promise<Result>) => {
    return async (...args: Args): Promise<Result> => {
      if (refused.call === name) refused.before()
      if (refused.call === name && refused.code !== '')
        throw Object.assign(new Error('refused'), { code: refused.code })
      return call(...args)
    }
  }
  const names = ['open', 'mkdir', 'rename', 'chmod'] as const
  return Object.fromEntries(names.map(name => [name, refusing(name, real[name] as never)]))
})

const FILE = '.openclaw/openclaw.json'
const TEXT = '{\n  "gateway": {}\n}\n'

let scene: InitScene
beforeEach(() => {
  scene = new InitScene()
})
afterEach(() => {
  Object.assign(refused, { call: '', code: '', before: () => undefined })
  scene.remove()
})

describe('a file that cannot be written', () => {
  test.each([
    ['open', 'EACCES', 'permission denied'],
    ['open', 'EROFS', 'the file system is read-only'],
    ['chmod', 'EPERM', 'permission denied'],
    ['rename', 'ENOSPC', 'the disk is full'],
  ])('stays as it is after %s: %s', async (call, code, why) => {
    scene.put(FILE, TEXT)
    Object.assign(refused, { call, code })
    const { code: exit, stdout, stderr } = await scene.init(['openclaw'])
    expect(exit).toBe(1)
    expect(stderr).toBe(`hookspan init: cannot change ${scene.path(FILE)}: ${why}\n`)
    expect(stdout).not.toContain('Done')
    expect(scene.read(FILE)).toBe(TEXT)
    expect(scene.names().filter(name => name.includes('/.hookspan-'))).toEqual([])
    if (call !== 'rename') expect(scene.names()).toEqual(['.openclaw', FILE])
  })

  test('is reported if its folder cannot be created', async () => {
    Object.assign(refused, { call: 'mkdir', code: 'EACCES' })
    const { code, stderr } = await scene.init(['pi'])
    expect(code).toBe(1)
    expect(stderr).toMatch(/^hookspan init: cannot change .*hookspan\.js: permission denied\n$/)
    expect(scene.names()).toEqual([])
  })

  test('keeps a change that another program makes meanwhile', async () => {
    scene.put(FILE, TEXT)
    Object.assign(refused, { call: 'chmod', before: () => appendFileSync(scene.path(FILE), '\n') })
    const { code, stderr } = await scene.init(['openclaw'])
    expect(code).toBe(1)
    expect(stderr).toBe(`hookspan init: cannot change ${scene.path(FILE)}: it has changed meanwhile; run this again\n`)
    expect(scene.read(FILE)).toMatch(/^\{\n {2}"gateway": \{\}\n\}\n\n+$/)
  })
})
