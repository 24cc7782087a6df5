/** What was set for privacy and cannot be used leaves nothing open: it means `off`, and not what a lower source says. */
import { mkdirSync, symlinkSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { resolveConfig } from '../../../src/plugin/config/resolve.ts'
import type { UserConfig } from '../../../src/plugin/config/types.ts'
import { messages, put, resolved, scratchHome } from './scratch-home.ts'

type Input = Parameters<typeof resolved>[0]

const OPEN = 'content_capture: full'
const OTEL = 'OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT'

test.each<[string, Input, string]>([
  [
    'a word in a file',
    { yaml: 'content_capture: non' },
    'expected off, preview or full, got "non" (config.yaml line 1)',
  ],
  ['a list in a file', { yaml: 'content_capture: [off]' }, 'got a list (config.yaml line 1)'],
  // biome-ignore lint/suspicious/noTemplateCurlyInString: that is how a file names a variable
  ['a variable that is not set', { yaml: 'content_capture: ${NONE}' }, 'the variable NONE is not set'],
  ['a variable', { yaml: OPEN, env: { HOOKSPAN_CONTENT_CAPTURE: 'of' } }, 'got "of" (HOOKSPAN_CONTENT_CAPTURE)'],
  ["OpenTelemetry's variable", { yaml: OPEN, env: { [OTEL]: 'flase' } }, `got "flase" (${OTEL})`],
  ['an option', { yaml: OPEN, code: { content_capture: 'none' as 'off' } }, 'got "none" (options in code)'],
  ['an option of another type', { code: { content_capture: true as never } }, 'got true (options in code)'],
])('closes at an unusable value, %s', (_, input, told) => {
  const resolution = resolved(input)
  expect(resolution.config.content_capture).toBe('off')
  expect(messages(resolution)).toHaveLength(1)
  expect(messages(resolution)[0]).toContain(told)
  expect(messages(resolution)[0]).toMatch(/; using off$/)
})

test.each<[string, Input, string]>([
  ['in a file', { yaml: '# one\ncontent_captrue: off' }, 'content_captrue, which is no key (config.yaml line 2)'],
  [
    'in a variable',
    { env: { HOOKSPAN_CONTENT_CAPTUR: 'off' } },
    'content_captur, which is no key (HOOKSPAN_CONTENT_CAPTUR)',
  ],
  [
    'in code',
    { yaml: OPEN, code: { contentCapture: 'off' } as UserConfig },
    'contentCapture, which is no key (options in code)',
  ],
  [
    'in other words',
    { code: { capture_message_content: false } as UserConfig },
    'capture_message_content, which is no key',
  ],
])('closes at a misspelt key, %s', (_, input, told) => {
  const resolution = resolved(input)
  expect(resolution.config.content_capture).toBe('off')
  expect(messages(resolution)).toHaveLength(1)
  expect(messages(resolution)[0]).toContain(`config: content_capture: perhaps meant by ${told}`)
  expect(messages(resolution)[0]).toMatch(/; using off$/)
})

test('warns about a misspelt key beside the key itself, and uses the key', () => {
  const resolution = resolved({ yaml: 'content_capture: full\ncontent_captrue: off' })
  expect(resolution.config.content_capture).toBe('full')
  expect(messages(resolution)).toEqual([
    'config: content_captrue: there is no such key (config.yaml line 2); did you mean content_capture?',
  ])
})

test('uses a valid higher source as ever, and the line names the value', () => {
  const resolution = resolved({ yaml: 'content_capture: non', code: { content_capture: 'full' } })
  expect(resolution.config.content_capture).toBe('full')
  expect(messages(resolution)[0]).toMatch(/got "non" \(config.yaml line 1\); using full$/)
})

test.each<[string, unknown]>([
  ['file', 'false'],
  ['file', 'no'],
  ['environment', '0'],
  ['code', false],
])('reads as off without a line, from %s: %s', (from, value) => {
  const resolution = resolved({
    ...(from === 'file' ? { yaml: `content_capture: ${value}` } : {}),
    ...(from === 'environment' ? { env: { HOOKSPAN_CONTENT_CAPTURE: String(value) } } : {}),
    ...(from === 'code' ? { code: { content_capture: value as 'off' } } : {}),
  })
  expect([resolution.config.content_capture, messages(resolution)]).toEqual(['off', []])
})

test('closes the other keys of privacy, too, whatever a lower source contains', () => {
  const yaml = 'redact: false\ncapture_sender_id: true\ncapture_conversation_history: true\nworkspace_capture: path'
  const env = {
    HOOKSPAN_REDACT: 'flase',
    HOOKSPAN_CAPTURE_SENDER_ID: 'flase',
    HOOKSPAN_CAPTURE_CONVERSATION_HISTORY: 'flase',
    HOOKSPAN_WORKSPACE_CAPTURE: 'nmae',
  }
  expect(resolved({ yaml, env }).config).toMatchObject({
    redact: true,
    capture_sender_id: false,
    capture_conversation_history: false,
    workspace_capture: 'off',
  })
})

describe('an unusable file', () => {
  const parsed = 'no file is read, and no content is captured'

  test('may have contained off', () => {
    const resolution = resolved({ yaml: 'content_capture: off\n\tdebug: true' })
    expect(resolution.config.content_capture).toBe('off')
    expect(resolution.sources.get('content_capture')).toEqual({ from: 'file', detail: 'a file that cannot be used' })
    expect(messages(resolution)).toEqual([expect.stringMatching(new RegExp(`line 2, column 1\\); ${parsed}$`))])
  })

  test('does not count if a higher source sets it', () => {
    const resolution = resolved({ yaml: '- x', env: { HOOKSPAN_CONTENT_CAPTURE: 'full' } })
    expect(resolution.config.content_capture).toBe('full')
    expect(messages(resolution)).toEqual([expect.stringMatching(/; no file is read$/)])
  })

  test('closes if it is named and missing', () => {
    const { config } = resolveConfig({ env: { HOOKSPAN_CONFIG: '/nowhere/config.yaml' }, home: scratchHome() })
    expect(config.content_capture).toBe('off')
  })

  test('closes if the system cannot read it', () => {
    const home = scratchHome()
    const directory = join(home, '.config/hookspan')
    mkdirSync(directory, { recursive: true })
    // What may not be read (EACCES) goes the same way; but root may read everything.
    symlinkSync('config.yaml', join(directory, 'config.yaml'))
    const resolution = resolveConfig({ env: {}, home })
    expect([resolution.config.content_capture, messages(resolution)]).toEqual([
      'off',
      [expect.stringMatching(new RegExp(`it cannot be read: ELOOP; ${parsed}$`))],
    ])
  })

  test('closes nothing if the system knows that there is none', () => {
    const home = scratchHome()
    put(home, '.config', 'a file in the place of a directory')
    const resolution = resolveConfig({ env: { XDG_CONFIG_HOME: join(home, 'nowhere') }, home })
    expect([resolution.config.content_capture, messages(resolution)]).toEqual(['preview', []])
    expect(resolveConfig({ env: {}, home }).config.content_capture).toBe('preview')
  })
})
