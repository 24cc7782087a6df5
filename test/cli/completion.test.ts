import { spawnSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { COMMANDS } from '../../src/cli/commands.ts'
import { dispatch } from '../../src/cli/dispatch.ts'
import { BACKEND_TYPES } from '../../src/delivery/backends/rows.ts'
import { fakeIo } from './fake-io.ts'

const isRequired = process.env['HOOKSPAN_REQUIRE_SHELLS'] === '1'
/** A shell that hangs is no shell that is slow. */
const HANG_MILLIS = 60_000

let folder = ''
beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'hookspan-completion-'))
  writeFileSync(join(folder, 'file with spaces.jsonl'), '')
  for (const shell of ['bash', 'zsh', 'fish']) {
    const io = fakeIo()
    expect(await dispatch(['completion', shell], io)).toBe(0)
    expect(io.written.stderr).toBe('')
    writeFileSync(join(folder, `hookspan.${shell}`), io.written.stdout)
  }
})
afterAll(() => rmSync(folder, { recursive: true, force: true }))

function isMissing(shell: string): boolean {
  return spawnSync(shell, ['-c', 'exit 0']).status !== 0
}

function inShell(shell: string, args: readonly string[]): string {
  const env = { PATH: process.env['PATH'] ?? '', HOME: folder, TERM: 'vt100', LC_ALL: 'C.UTF-8' }
  const run = spawnSync(shell, args, {
    cwd: folder,
    env,
    encoding: 'utf8',
    timeout: HANG_MILLIS,
    killSignal: 'SIGKILL',
  })
  expect(run.stderr).toBe('')
  expect(run.status).toBe(0)
  return run.stdout
}

/** Its test is run where the shell is, and in continuous integration in any case. */
function describeShell(shell: string, tests: () => void): void {
  const isLeftOut = shell !== 'bash' && !isRequired && isMissing(shell)
  if (isLeftOut) console.warn(`completions of ${shell} are left out: there is no ${shell} on PATH`)
  describe.skipIf(isLeftOut)(shell, () => {
    test('knows the syntax', () => {
      expect(inShell(shell, ['-n', `hookspan.${shell}`])).toBe('')
    })

    tests()
  })
}

const NAMES = COMMANDS.map(({ name }) => name)
const HOSTS = [
  'pi',
  'openclaw',
  'opencode',
  'kilo',
  'hermes',
  'claude-code',
  'codex',
  'cursor',
  'copilot',
  'gemini',
  'qwen',
  'claude-agent-sdk',
  'openai-agents',
  'ai-sdk',
  'locus',
]
const FILE = 'file with spaces.jsonl'

/** What stands on the line, and what may stand where the last word begins. */
const OFFERS: readonly (readonly [line: string, offered: readonly string[]])[] = [
  ['hookspan ', [...NAMES, 'help']],
  ['hookspan tr', ['tree']],
  ['hookspan help ', NAMES],
  ['hookspan init ', HOSTS],
  ['hookspan init openc', ['openclaw', 'opencode']],
  ['hookspan init --undo p', ['pi']],
  ['hookspan demo --backend ', BACKEND_TYPES],
  ['hookspan doctor --backend=ja', ['jaeger']],
  ['hookspan replay --host claude-a', ['claude-agent-sdk']],
  ['hookspan completion ', ['bash', 'zsh', 'fish']],
  ['hookspan tree fi', [FILE]],
  ['hookspan replay one fi', [FILE]],
  ['hookspan replay --out fi', [FILE]],
  ['hookspan replay -o fi', [FILE]],
  ['hookspan tree --session fi', []],
  ['hookspan tree -n fi', []],
  ['hookspan config fi', []],
]

/** Each command, and its long options. */
async function optionsOfAll(): Promise<[name: string, options: string[]][]> {
  const commands = await Promise.all(COMMANDS.map(row => row.load()))
  return commands.map(({ name, options }) => [
    name,
    [...Object.keys(options), 'help'].map(option => `--${option}`).sort(),
  ])
}

describeShell('bash', () => {
  /** As readline calls it; it takes the equals sign for a word. */
  function offered(line: string): string[] {
    const words = line.split(/ |(?==)|(?<==)/)
    const quoted = words.map(word => `'${word}'`).join(' ')
    const script = `source hookspan.bash; COMP_WORDS=(${quoted}); COMP_CWORD=${words.length - 1}; _hookspan; printf '%s\\n' "\${COMPREPLY[@]}"`
    const stdout = inShell('bash', ['--norc', '--noprofile', '-c', script])
    return stdout.split('\n').filter(word => word !== '')
  }

  test.each(OFFERS)('offers the right words: %s', (line, expected) => {
    const words = offered(line).filter(word => line !== 'hookspan ' || !word.startsWith('-'))
    expect(words.sort()).toEqual([...expected].sort())
  })

  test('offers every option of every command', async () => {
    for (const [name, options] of await optionsOfAll())
      expect(offered(`hookspan ${name} --`).sort(), name).toEqual(options)
  })
})

describeShell('fish', () => {
  function offered(line: string): string[] {
    const stdout = inShell('fish', ['--no-config', '-c', 'source hookspan.fish; complete -C $argv[1]', line])
    // A name, and behind a tab what it is; where a value is asked for, each stands behind its option.
    const words = stdout.split('\n').map(entry => entry.split('\t')[0]?.replace(/^--[a-z-]+=/, '') ?? '')
    return words.map(word => word.replaceAll('\\', '')).filter(word => word !== '')
  }

  test.each(OFFERS)('offers the right words: %s', (line, expected) => {
    expect(offered(line).sort()).toEqual([...expected].sort())
  })

  test('offers every option of every command', async () => {
    for (const [name, options] of await optionsOfAll()) {
      const long = offered(`hookspan ${name} --`).filter(word => word.startsWith('--'))
      expect(long.sort(), name).toEqual(options)
    }
  })
})

/** Types lines into a zsh, each with a tab at its end, and prints what the program is then called with. */
const TYPED = String.raw`
  zmodload zsh/zpty
  zpty shell 'zsh -f -i'
  zpty -w shell 'PS1= PROMPT_EOL_MARK=; unsetopt beep; autoload -U compinit; compinit -u -D; source ./hookspan.zsh; hookspan() { print -r -- "GO""T<$*>" }; print REA""DY'
  zpty -r shell said '*READY*'
  while read -r line; do
    zpty -w -n shell "$line"$'\t\n'
    zpty -r shell said '*GOT<*>*'
    print -r -- "\${\${said##*GOT<}%%>*}"
  done < lines
  zpty -d shell
`.replaceAll('\\$', '$')

describeShell('zsh', () => {
  const UNIQUE: readonly (readonly [typed: string, completed: string])[] = [
    ['hookspan tr', 'tree'],
    ['hookspan help doc', 'help doctor'],
    ['hookspan init opencl', 'init openclaw'],
    ['hookspan init --un', 'init --undo'],
    ['hookspan demo --backend ja', 'demo --backend jaeger'],
    ['hookspan doctor --backend=ja', 'doctor --backend=jaeger'],
    ['hookspan demo --backend otlp --backend ja', 'demo --backend otlp --backend jaeger'],
    ['hookspan replay --host claude-a', 'replay --host claude-agent-sdk'],
    ['hookspan completion fi', 'completion fish'],
    ['hookspan tree --fol', 'tree --follow'],
    ['hookspan tree fi', `tree ${FILE}`],
    ['hookspan replay --out fi', `replay --out ${FILE}`],
    ['hookspan replay one -o fi', `replay one -o ${FILE}`],
    ['hookspan tree --session fi', 'tree --session fi'],
    ['hookspan config fi', 'config fi'],
  ]

  test('completes typed words', () => {
    writeFileSync(join(folder, 'lines'), UNIQUE.map(([typed]) => `${typed}\n`).join(''))
    const completed = inShell('zsh', ['-f', '-c', TYPED]).split('\n').slice(0, -1)
    expect(completed.map(line => line.trim())).toEqual(UNIQUE.map(([, line]) => line))
  })

  test('offers every option of every command, with its help text', async () => {
    const script = readFileSync(join(folder, 'hookspan.zsh'), 'utf8')
    for (const [name, options] of await optionsOfAll()) {
      const [, block = ''] = new RegExp(`\n    ${name}\\)\n([^;]*(?:;(?! ?;)[^;]*)*) ;;\n`).exec(script) ?? []
      expect([...block.matchAll(/'(?:\*|\([^)]*\))(--[a-z-]+)=?\[/g)].map(([, option]) => option).sort(), name).toEqual(
        options,
      )
    }
  })
})

describe('hookspan completion', () => {
  test.each([
    [[], 'expected a shell: bash, zsh, fish'],
    [['bsh'], 'unsupported shell "bsh". Did you mean bash?'],
    [['powershell'], 'unsupported shell "powershell"; shells: bash, zsh, fish'],
    [['bash', 'zsh'], 'expected one shell, got "zsh", too'],
  ])('rejects %j', async (args, message) => {
    const io = fakeIo()
    expect(await dispatch(['completion', ...args], io)).toBe(2)
    expect(io.written.stdout).toBe('')
    expect(io.written.stderr.split('\n')[0]).toBe(`hookspan completion: ${message}`)
  })
})
