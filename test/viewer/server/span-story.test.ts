import { describe, expect, test } from 'vitest'
import { spanStory } from '../../../src/viewer/server/span-story.ts'

interface Described {
  readonly namespace?: string
  readonly statusMessage?: string
}

/** What the panel says, as lines. */
function story(
  values: Readonly<Record<string, unknown>>,
  { namespace = 'hermes', statusMessage }: Described = {},
): string[] {
  const attributes = Object.fromEntries(Object.entries(values).map(([name, value]) => [name, { value }]))
  const { contents, groups, notices } = spanStory(attributes, namespace, statusMessage)
  return [
    ...notices,
    ...contents.map(({ label, attribute }) => `${label} (${attribute})`),
    ...groups.flatMap(({ title, facts }) => [`# ${title}`, ...facts.map(({ label, text }) => `${label}: ${text}`)]),
  ]
}

describe('the description of a span', () => {
  test('explains a guard, and a tool that it has blocked', () => {
    const hook = story({
      'hermes.hook.name': 'no-rm',
      'hermes.hook.phase': 'before_tool',
      'hermes.hook.verdict': 'block',
      'hermes.hook.action': 'blocked',
      'hermes.hook.reason': 'Do not delete.',
      'hermes.hook.rewritten_fields': ['command', 'cwd'],
      'hermes.hook.duration_ms': 12,
    })
    expect(hook).toEqual([
      '# Guard',
      'Guard: no-rm',
      'Phase: before_tool',
      'Decision: block',
      'Action: blocked',
      'Message to the model: Do not delete.',
      'Rewritten fields: command, cwd',
      'Duration: 12 ms',
    ])
    const tool = story({ 'hermes.tool.outcome': 'blocked', 'hermes.tool.blocked_by': 'no-rm' })
    expect(tool).toEqual(['# Tool', 'Outcome: blocked', 'Blocked by: no-rm'])
  })

  test('explains a request', () => {
    const span = story({
      'gen_ai.request.model': 'qwen3',
      'llm.model_name': 'qwen3',
      'gen_ai.usage.input_tokens': 13_244,
      'gen_ai.usage.cache_read.input_tokens': 5_800,
      'gen_ai.response.finish_reasons': ['tool_calls'],
      'hermes.api.attempt': 1,
      'gen_ai.response.time_to_first_chunk': 0.64,
      'hermes.context.used_ratio': 0.0237,
      'input.value': 'short form',
      'gen_ai.input.messages': '[{"role":"user","content":"hi"}]',
    })
    expect(span).toEqual([
      'Input (gen_ai.input.messages)',
      '# Model',
      'Model: qwen3',
      'Finish reason: tool_calls',
      'Time to first token: 640 ms',
      'Previous attempts: 1',
      '# Tokens',
      'Input: 13 244',
      'Cached input: 5 800',
      'Context used: 2.4 %',
    ])
  })

  test('explains a tool in another namespace, with repeated content shown once', () => {
    const span = story(
      {
        'acme.tool.command': 'cat .env',
        'gen_ai.tool.call.arguments': '{"command":"cat .env"}',
        'input.value': '{"command":"cat .env"}',
        'gen_ai.tool.call.result': 'KEY=[REDACTED]',
        'output.value': 'KEY=[REDACTED]',
        'acme.tool.outcome': 'error',
        'error.type': 'tool_error',
        'acme.content.truncated': true,
      },
      { namespace: 'acme', statusMessage: 'exit 1' },
    )
    expect(span).toEqual([
      'Secrets were masked before storage and appear as [REDACTED].',
      'Values over the content_capture limit were truncated before storage. The rest was not stored.',
      'Command (acme.tool.command)',
      'Arguments (gen_ai.tool.call.arguments)',
      'Result (gen_ai.tool.call.result)',
      '# Error',
      'Type: tool_error',
      'Description: exit 1',
      '# Tool',
      'Outcome: error',
    ])
  })

  test('does not treat names of properties as attributes', () => {
    expect(story({})).toEqual([])
  })
})
