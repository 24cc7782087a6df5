import type { SpanNote } from '../reading/sample-turn.ts'

/** The two turns of docs/commands.md: one task, given to two models. */

type Attributes = SpanNote['attributes']

function span(
  trace: string,
  id: string,
  parent: string,
  name: string,
  from: number,
  to: number,
  more: Attributes = {},
) {
  const kind = name.split('.')[0] === 'agent' ? 'session' : name.split('.')[0]
  const attributes = {
    'hermes.span.kind': kind ?? '',
    'session.id': trace.startsWith('7c') ? 's-41c7' : 's-90ae',
    ...more,
  }
  return {
    id: `${trace.slice(0, 14)}${id}`,
    ...(parent && { parent: `${trace.slice(0, 14)}${parent}` }),
    trace,
    name,
    from,
    to,
    attributes,
  }
}

function root(agent: string, number: number): Attributes {
  return {
    'gen_ai.agent.name': agent,
    'hermes.turn.number': number,
    'input.value': 'Why does the login test fail?',
    'hermes.turn.final_status': 'completed',
  }
}

function request(model: string, input: number, output: number): Attributes {
  return { 'gen_ai.request.model': model, 'gen_ai.usage.input_tokens': input, 'gen_ai.usage.output_tokens': output }
}

function told(target: Attributes, values: unknown): Attributes {
  return { 'gen_ai.tool.call.arguments': JSON.stringify(values), 'hermes.tool.outcome': 'completed', ...target }
}

const A = '7c035f25a90e4b4e8a2f6b1d0c9e3f51'
const B = 'e41d07aa52c94f0b9d1c3a77f08b6e20'

export const DIFF_PAGE: readonly SpanNote[] = [
  span(A, 'a1', '', 'agent', 0, 24_100, root('hermes', 3)),
  span(A, 'a2', 'a1', 'api.qwen3-coder', 0, 2_100, request('qwen3-coder', 6_210, 212)),
  span(
    A,
    'a3',
    'a2',
    'tool.read_file',
    2_150,
    2_200,
    told({ 'hermes.tool.target': 'test/login.test.ts' }, { path: 'test/login.test.ts' }),
  ),
  span(
    A,
    'a4',
    'a2',
    'tool.terminal',
    2_210,
    8_000,
    told({ 'hermes.tool.command': 'npm test -- login' }, { command: 'npm test -- login', timeout: 60 }),
  ),
  span(A, 'a5', 'a1', 'api.qwen3-coder', 8_100, 10_900, request('qwen3-coder', 7_480, 340)),
  span(
    A,
    'a6',
    'a5',
    'tool.write_file',
    11_000,
    20_050,
    told(
      { 'hermes.tool.target': 'src/token.ts' },
      { path: 'src/token.ts', content: 'const LIFE = 3600\nexport { LIFE }' },
    ),
  ),
  span(A, 'a7', 'a6', 'approval.write', 11_010, 20_000, { 'hermes.approval.choice': 'once' }),
  span(A, 'a8', 'a1', 'api.qwen3-coder', 20_100, 24_000, request('qwen3-coder', 7_900, 96)),
  span(B, 'b1', '', 'agent', 0, 11_800, root('claude-code', 1)),
  span(B, 'b2', 'b1', 'api.claude-sonnet', 0, 3_000, request('claude-sonnet', 9_100, 180)),
  span(
    B,
    'b3',
    'b2',
    'tool.Bash',
    3_100,
    8_700,
    told({ 'hermes.tool.command': 'npm test -- login' }, { command: 'npm test -- login' }),
  ),
  span(B, 'b4', 'b1', 'api.claude-sonnet', 8_800, 10_300, request('claude-sonnet', 9_900, 210)),
  span(
    B,
    'b5',
    'b4',
    'tool.write_file',
    10_350,
    10_400,
    told(
      { 'hermes.tool.target': 'src/token.ts' },
      { path: 'src/token.ts', content: 'const LIFE = 3_600_000\nexport { LIFE }' },
    ),
  ),
  span(B, 'b6', 'b1', 'api.claude-sonnet', 10_450, 11_750, request('claude-sonnet', 10_300, 88)),
]
