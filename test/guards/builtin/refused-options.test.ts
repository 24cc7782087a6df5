import { expect, test } from 'vitest'
import {
  budget,
  contentFilter,
  logging,
  loopGuard,
  modelRetry,
  steering,
  structuredLogging,
  workflowGuard,
} from '../../../src/guards/builtin/index.ts'

const judge = () => ({ verdict: 'proceed' })

const REFUSED: readonly (readonly [make: (options?: any) => unknown, options: unknown, line: string])[] = [
  [logging, { contents: true }, 'logging: there is no option "contents"; there are content, name, priority, onFailure'],
  [logging, { content: 'yes' }, 'logging: content is true or false'],
  [logging, 5, 'logging: options are an object'],
  [logging, { toString: 5 }, 'logging: there is no option "toString"; there are content, name, priority, onFailure'],
  [structuredLogging, { write: 'stdout' }, 'structuredLogging: write is a function'],
  [modelRetry, { retries: 0 }, 'modelRetry: retries is a whole number above 0'],
  [modelRetry, { delayMillis: -1 }, 'modelRetry: delayMillis is a number of milliseconds, 0 or more'],
  [modelRetry, { factor: '2' }, 'modelRetry: factor is a number above 0'],
  [modelRetry, { maxDelayMillis: Number.NaN }, 'modelRetry: maxDelayMillis is a number of milliseconds, 0 or more'],
  [modelRetry, { onFailure: 'closed' }, 'modelRetry: onFailure is "pass" or "block"'],
  [modelRetry, { name: '' }, 'modelRetry: name is a text'],
  [modelRetry, { priority: 'high' }, 'modelRetry: priority is a number'],
  [steering, {}, 'steering: judge is a function'],
  [steering, { judge: 'gpt' }, 'steering: judge is a function'],
  [
    steering,
    { judge, for: ['bash'] },
    'steering: for is a list of "shell", "read", "edit", "write", "search", "fetch", "agent", "mcp", "other"',
  ],
  [budget, {}, 'budget: set limits of a turn or a session'],
  [budget, { turn: 5 }, 'budget: turn is an object'],
  [
    budget,
    { turn: { tokns: 5 } },
    'budget: turn: there is no option "tokns"; there are tokens, cost, toolCalls, minutes',
  ],
  [budget, { session: { toolCalls: 1.5 } }, 'budget: session: toolCalls is a whole number above 0'],
  [budget, { session: { minutes: 0 } }, 'budget: session: minutes is a number above 0'],
  [loopGuard, { repeats: 0 }, 'loopGuard: repeats is a whole number above 0'],
  [loopGuard, { repeats: 20 }, 'loopGuard: within is more than repeats'],
  [workflowGuard, {}, 'workflowGuard: planPath is a text'],
  [workflowGuard, { planPath: 'plan.md', blockedTools: 'edit' }, 'workflowGuard: blockedTools is a list of texts'],
  [workflowGuard, { planPath: 'plan.md', allowedPaths: [''] }, 'workflowGuard: allowedPaths is a list of texts'],
  [
    workflowGuard,
    { planPath: 'plan.md', plan_path: 'plan.md' },
    'workflowGuard: there is no option "plan_path"; there are planPath, blockedKinds, blockedTools, allowedPaths, root, exists, name, priority, onFailure',
  ],
  [contentFilter, { secrets: 'mask' }, 'contentFilter: secrets is "redact" or "block" or "pass"'],
  [
    contentFilter,
    { phases: ['beforeTool'] },
    'contentFilter: phases is a list of "afterModel", "afterTool", "afterTurn"',
  ],
  [contentFilter, { patterns: ['x'] }, 'contentFilter: patterns is an object with lists: redact, block'],
  [contentFilter, { patterns: { block: [''] } }, 'contentFilter: the pattern "" cannot block: it is empty'],
  [
    contentFilter,
    { patterns: { redact: [{ glob: '*.x' }] } },
    'contentFilter: the pattern {"glob":"*.x"} cannot redact: a glob fits a whole text',
  ],
]

test.each(REFUSED)('rejects %o of %j', (make, options, line) => {
  expect(() => make(options)).toThrow(new TypeError(line))
})

test('rejects a regular expression that can take long', () => {
  expect(() => contentFilter({ patterns: { block: [{ regex: '(a+)+b' }] } })).toThrow(
    /^contentFilter: the pattern .* cannot block: /,
  )
})

test('accepts a name, a priority and a failure policy in all', () => {
  const told = { name: 'mine', priority: 42, onFailure: 'pass' } as const
  const made = [
    logging(told),
    structuredLogging(told),
    modelRetry(told),
    steering({ ...told, judge: () => ({ verdict: 'proceed' }) }),
    budget({ ...told, turn: { toolCalls: 1 } }),
    loopGuard(told),
    workflowGuard({ ...told, planPath: 'plan.md' }),
    contentFilter(told),
  ]
  for (const hook of made) expect(hook).toMatchObject(told)
})

test('closes guards and opens observers at a failure by default', () => {
  const made = [
    logging(),
    structuredLogging(),
    modelRetry(),
    loopGuard(),
    steering({ judge: () => ({ verdict: 'proceed' }) }),
    budget({ turn: { toolCalls: 1 } }),
    workflowGuard({ planPath: 'plan.md' }),
    contentFilter(),
  ]
  expect(
    made.map(({ name, priority, onFailure, decisions }) => [name, priority, onFailure, String(decisions)]),
  ).toEqual([
    ['logging', 100, 'pass', ''],
    ['structured-logging', 100, 'pass', ''],
    ['model-retry', 200, 'pass', 'retry'],
    ['loop-guard', 200, 'pass', 'undefined'],
    ['steering', 200, 'block', 'undefined'],
    ['budget', 200, 'block', 'undefined'],
    ['workflow-guard', 200, 'block', 'undefined'],
    ['content-filter', 0, 'block', 'block,rewrite'],
  ])
})
