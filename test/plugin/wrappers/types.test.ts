/** What the compiler says of the wrappers: `npm run types` fails where one of these is wrong. */
import { expectTypeOf, test } from 'vitest'
import type { RunTurn, ToolHandle, ToolIds, TurnHandle } from '../../../src/index.ts'
import { createTestPlugin } from '../../../src/testing.ts'

class Answer extends Promise<string> {
  withResponse(): number {
    return 1
  }
}

test('gives a result the type of its function', () => {
  const { turn: run }: { turn: RunTurn } = createTestPlugin()
  run({}, turn => {
    expectTypeOf(turn).toEqualTypeOf<TurnHandle>()
    expectTypeOf(turn.request({ model: 'm' }, () => Answer.resolve('x') as Answer)).toEqualTypeOf<Answer>()
    expectTypeOf(turn.tool('t', { path: 'p' }, ({ path }) => path.length)).toEqualTypeOf<number>()
    expectTypeOf(turn.approval({}, () => 'deny' as const)).toEqualTypeOf<'deny'>()
    expectTypeOf(turn.subagent({}, async child => child.ids.session_id)).toEqualTypeOf<Promise<string>>()
    turn.tool('t', 1, (args, tool) => {
      expectTypeOf(args).toEqualTypeOf<number>()
      expectTypeOf(tool).toEqualTypeOf<ToolHandle>()
      expectTypeOf(tool.ids).toEqualTypeOf<ToolIds>()
    })
  })
  expectTypeOf(run({}, () => 1)).toEqualTypeOf<number>()
  expectTypeOf(run({}, async () => 'x')).toEqualTypeOf<Promise<string>>()
})

test('rejects misspelt or foreign fields at compile time', () => {
  const { turn: run } = createTestPlugin()
  // @ts-expect-error: session_id
  run({ sesion_id: 's1' }, () => undefined)
  // @ts-expect-error: a turn needs its function
  expectTypeOf(() => run({ session_id: 's1' })).toBeFunction()
  run({}, turn => {
    // @ts-expect-error: messages
    turn.request({ model: 'm', mesages: [] }, () => undefined)
    // @ts-expect-error: the ordinal is counted
    turn.request({ api_call_count: 3 }, () => undefined)
    // @ts-expect-error: the arguments have a place of their own
    turn.tool({ tool_name: 't', args: {} }, {}, () => undefined)
    // @ts-expect-error: the arguments are those that are given
    turn.tool('t', { path: 1 }, (args: { path: string }) => args)
    // @ts-expect-error: command
    turn.approval({ comand: 'ls' }, () => true)
    // @ts-expect-error: child_role
    turn.subagent({ role: 'scout' }, () => undefined)
    // @ts-expect-error: a turn has no status
    turn.end({ status: 'ok' })
    // @ts-expect-error: ids are made, or given at the start
    turn.end({ session_id: 's2' })
  })
})
