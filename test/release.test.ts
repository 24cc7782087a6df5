import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { parseDocument } from 'yaml'
import packageJson from '../package.json' with { type: 'json' }
import { ROOT, read, script } from './support/pages.ts'

const { releaseNotes } = await script<{
  releaseNotes(tag: string, version: string, changelog: string): string
}>('release-notes.mjs')

/** Every text of the repository that GitHub and npm read, by its path. */
const READ_THERE = [
  'README.md',
  'CODE_OF_CONDUCT.md',
  'docs/README.md',
  ...readdirSync(join(ROOT, '.github'), { recursive: true, encoding: 'utf8' })
    .filter(path => /\.(yml|md)$|CODEOWNERS$/.test(path))
    .map(path => `.github/${path}`),
]

interface Workflow {
  readonly jobs: Record<string, { strategy?: { matrix: { os: string[]; node: number[] } }; steps: { run?: string }[] }>
}

const workflows = new Map(
  ['ci', 'nightly', 'release'].map(name => {
    const text = read(`.github/workflows/${name}.yml`)
    return [name, parseDocument(text).toJS() as Workflow]
  }),
)

describe('release notes', () => {
  const changelog = '# Changelog\n\n## [1.1.0] - 2027-01-02\n\n- Add a thing.\n\n## [1.0.0] - 2026-12-01\n\n- First.\n'

  test('is the section of the version', () => {
    expect(releaseNotes('v1.1.0', '1.1.0', changelog)).toBe('- Add a thing.\n')
  })

  test.each([
    ['another version than package.json', 'v1.0.0', '1.1.0'],
    ['a version without a section', 'v1.2.0', '1.2.0'],
  ])('rejects %s', (_, tag, version) => {
    expect(() => releaseNotes(tag, version, changelog)).toThrow()
  })

  test('rejects a section without a date', () => {
    expect(() => releaseNotes('v1.0.0', '1.0.0', '## [1.0.0] - Unreleased\n\n- First.\n')).toThrow('is missing')
  })
})

describe('the workflows', () => {
  test('runs the tests on three systems with the Nodes that README.md names', () => {
    const { os = [], node = [] } = workflows.get('ci')?.jobs['test']?.strategy?.matrix ?? {}
    expect(os.map(name => name.split('-')[0])).toEqual(['ubuntu', 'macos', 'windows'])
    expect(read('README.md')).toContain(`tested with ${node.slice(0, -1).join(', ')} and ${node.at(-1)}`)
  })

  test('runs only scripts that there are', () => {
    const runs = [...workflows.values()].flatMap(({ jobs }) =>
      Object.values(jobs).flatMap(({ steps }) => steps.flatMap(({ run }) => (run === undefined ? [] : [run]))),
    )
    const named = runs.flatMap(run => /^npm run (\S+)/.exec(run)?.[1] ?? [])
    expect(named.length).toBeGreaterThan(2)
    expect(named.filter(name => !Object.hasOwn(packageJson.scripts, name))).toEqual([])
    expect(runs).toContain('.ci/run')
  })
})

test.each(READ_THERE)('names the repository by the address of package.json: %s', path => {
  const [, address = ''] = /^git\+https:\/\/(.*)\.git$/.exec(packageJson.repository.url) ?? []
  const named = read(path).match(/github\.com\/[\w-]+\/hookspan\b/g) ?? []
  expect(named.filter(each => each !== address)).toEqual([])
})
