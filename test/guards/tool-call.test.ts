import { describe, expect, test } from 'vitest'
import { type ToolCall, toolCallOf } from '../../src/guards/tool-call.ts'

const PATCH = [
  '*** Begin Patch',
  '*** Add File: src/new.ts',
  '+export {}',
  '*** Update File: src/old.ts',
  '*** Move to: src/moved.ts',
  '@@',
  '-a',
  '+b',
  '*** Delete File: src/gone.ts',
  '*** End Patch',
].join('\n')
const PATCHED = 'src/new.ts src/old.ts src/moved.ts src/gone.ts'
const DIFF = '--- a/src/old.ts\t2026-11-01\n+++ b/src/old.ts\n@@ -1 +1 @@\n-a\n+b\n--- /dev/null\n+++ b/src/new.ts\n'

type Row = readonly [name: string, args: object, words: string]

/** What agents hand over, and what a guard sees of it: kind, `$` command, `in` folder, paths, `@` address. */
const AGENTS: Record<string, readonly Row[]> = {
  'Claude Code': [
    ['Bash', { command: 'ls -l', description: 'List' }, 'shell $ ls -l'],
    ['Read', { file_path: '/srv/a.ts', limit: 5 }, 'read /srv/a.ts'],
    ['Edit', { file_path: '/srv/a.ts', old_string: 'a', new_string: 'b' }, 'edit /srv/a.ts'],
    ['MultiEdit', { file_path: '/srv/a.ts', edits: [] }, 'edit /srv/a.ts'],
    ['NotebookEdit', { notebook_path: '/srv/a.ipynb', new_source: '' }, 'edit /srv/a.ipynb'],
    ['Write', { file_path: '/srv/a.ts', content: '--- a/b\n' }, 'write /srv/a.ts'],
    ['Grep', { pattern: 'x', path: 'src' }, 'search src'],
    ['Glob', { pattern: '**/*.ts' }, 'search'],
    ['WebFetch', { url: 'https://example.org/', prompt: 'Sum it up' }, 'fetch @ https://example.org/'],
    ['Task', { prompt: 'Look', subagent_type: 'Explore' }, 'agent'],
    ['Agent', { prompt: 'Look' }, 'agent'],
    ['mcp__files__move', { path: '/srv/a' }, 'mcp /srv/a'],
    ['TodoWrite', { todos: [] }, 'other'],
  ],
  Codex: [
    ['Bash', { command: 'ls -l' }, 'shell $ ls -l'],
    ['exec_command', { cmd: 'ls -l', workdir: '/srv' }, 'shell $ ls -l in /srv'],
    ['shell', { command: ['bash', '-lc', "echo 'a b'"] }, "shell $ bash -lc 'echo '\\''a b'\\'''"],
    ['write_stdin', { session_id: 1, chars: 'rm x\n' }, 'shell $ rm x\n'],
    ['write_stdin', { session_id: 1, chars: '' }, 'shell $ '],
    ['apply_patch', { input: PATCH }, `edit ${PATCHED}`],
    ['apply_patch', { command: PATCH }, `edit ${PATCHED}`],
  ],
  'Gemini CLI': [
    ['run_shell_command', { command: 'ls -l', dir_path: 'src' }, 'shell $ ls -l in src src'],
    ['replace', { file_path: '/srv/a.ts', old_string: 'a', new_string: 'b' }, 'edit /srv/a.ts'],
    ['write_file', { file_path: '/srv/a.ts', content: '' }, 'write /srv/a.ts'],
    ['read_file', { absolute_path: '/srv/a.ts' }, 'read /srv/a.ts'],
    ['read_many_files', { paths: ['a.ts', 'b.ts'] }, 'read a.ts b.ts'],
    ['list_directory', { dir_path: 'src' }, 'search src'],
    ['search_file_content', { pattern: 'x', dir_path: 'src' }, 'search src'],
    ['google_web_search', { query: 'x' }, 'fetch'],
    ['mcp_files_read', { path: 'a' }, 'mcp a'],
  ],
  'Qwen Code': [
    ['run_shell_command', { command: 'ls', directory: '/srv' }, 'shell $ ls in /srv /srv'],
    ['edit', { file_path: '/srv/a.ts' }, 'edit /srv/a.ts'],
  ],
  Pi: [
    ['bash', { command: 'ls -l', timeout: 5 }, 'shell $ ls -l'],
    ['read', { path: 'a.ts' }, 'read a.ts'],
    ['edit', { path: 'a.ts', edits: [{ oldText: 'a', newText: 'b' }] }, 'edit a.ts'],
    ['write', { path: 'a.ts', content: '' }, 'write a.ts'],
    ['ls', { path: 'src' }, 'search src'],
    ['find', { pattern: '*.ts', path: 'src' }, 'search src'],
  ],
  opencode: [
    ['bash', { command: 'ls -l', workdir: '/srv' }, 'shell $ ls -l in /srv'],
    ['edit', { filePath: '/srv/a.ts', oldString: 'a', newString: 'b' }, 'edit /srv/a.ts'],
    ['write', { filePath: '/srv/a.ts', content: '' }, 'write /srv/a.ts'],
    ['patch', { patchText: PATCH }, `edit ${PATCHED}`],
    ['webfetch', { url: 'https://example.org/', format: 'text' }, 'fetch @ https://example.org/'],
    ['task', { prompt: 'Look' }, 'agent'],
  ],
  OpenClaw: [
    ['exec', { command: 'ls -l', workdir: '/srv' }, 'shell $ ls -l in /srv'],
    ['apply_patch', { input: PATCH }, `edit ${PATCHED}`],
    ['web_search', { query: 'x' }, 'fetch'],
  ],
  Hermes: [
    ['terminal', { command: 'ls -l', workdir: '/srv' }, 'shell $ ls -l in /srv'],
    ['patch', { mode: 'replace', path: 'a.ts', old_string: 'a', new_string: 'b' }, 'edit a.ts'],
    ['patch', { mode: 'patch', patch: PATCH }, `edit ${PATCHED}`],
    ['write_file', { path: 'a.ts', content: '' }, 'write a.ts'],
    ['search_files', { pattern: 'x', path: 'src' }, 'search src'],
    ['delegate_task', { goal: 'Look' }, 'agent'],
  ],
  'of one’s own': [
    ['apply_patch', { patch: DIFF }, 'edit src/old.ts src/new.ts'],
    ['apply_patch', { patch: '  *** Add File: src/new.ts\r\n+x' }, 'edit src/new.ts'],
    ['read_file', { paths: [{ path: 'a' }, 'b', 5, null] }, 'read a b'],
    ['book_flight', { to: 'Oslo' }, 'other'],
    ['BASH', { command: 'ls' }, 'shell $ ls'],
    ['bash', { command: 5 }, 'shell'],
    ['bash', {}, 'shell'],
  ],
}

function inWords({ kind, command, cwd, paths, url }: ToolCall): string {
  const told = [kind, command !== undefined && `$ ${command}`, cwd && `in ${cwd}`, ...paths, url && `@ ${url}`]
  return told.filter(each => each !== false && each !== undefined).join(' ')
}

describe.each(Object.entries(AGENTS))('%s', (_, rows) => {
  test.each(rows)('reads %s %j: %s', (name, args, words) => {
    expect(inWords(toolCallOf({ name, arguments: args as Record<string, unknown> }))).toBe(words)
  })
})

test("uses the agent's folder for a tool that names none", () => {
  const bash = { name: 'bash', cwd: '/home', id: 'c1' }
  expect(toolCallOf({ ...bash, arguments: { command: 'ls' } })).toMatchObject({ cwd: '/home', id: 'c1' })
  expect(toolCallOf({ ...bash, arguments: { command: 'ls', workdir: '/srv' } }).cwd).toBe('/srv')
})

test("resolves a named folder against the agent's, which is passed beside it", () => {
  const call = (workdir: string): ToolCall =>
    toolCallOf({ name: 'bash', cwd: '/home/me', arguments: { command: 'ls', workdir } })
  expect(call('../you')).toMatchObject({ cwd: '/home/you', agentCwd: '/home/me' })
  expect(call('~/src')).toMatchObject({ cwd: '~/src', agentCwd: '/home/me' })
})

test('joins all commands in the arguments of a shell', () => {
  const args = { cmd: 'rm x', command: 'ls', script: ['a b', 'c'] }
  expect(toolCallOf({ name: 'shell', arguments: args }).command).toBe("ls\nrm x\n'a b' c")
})

test('finds every path, without a limit', () => {
  const paths = Array.from({ length: 5000 }, (_, at) => `file-${at}`)
  expect(toolCallOf({ name: 'read', arguments: { paths } }).paths).toEqual(paths)
  const patch = paths.map(path => `*** Add File: ${path}`).join('\n')
  expect(toolCallOf({ name: 'apply_patch', arguments: { patch } }).paths).toEqual(paths)
})

const refusing = new Proxy(
  {},
  {
    get() {
      throw new Error('private')
    },
  },
)

test.each([
  ['no arguments', undefined],
  ['null', null],
  ['a text', 'ls'],
  ['a refusing object', refusing],
])('survives %s from an agent', (_, args) => {
  const call = toolCallOf({ name: 'bash', arguments: args as never })
  expect(call).toMatchObject({ kind: 'shell', command: undefined, paths: [] })
})

test('treats a missing name as another tool', () => {
  expect(toolCallOf({ name: undefined as never, arguments: {} }).kind).toBe('other')
  expect(toolCallOf({ name: 'constructor', arguments: {} }).kind).toBe('other')
})
