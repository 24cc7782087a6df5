import { expect, test } from 'vitest'
import { Home } from './home.ts'
import { toldOf, twoTurns } from './scenario.ts'
import { once, treesOf, World } from './world.ts'

const EVENTS = toldOf(twoTurns())

/** What happens before the event of that number. */
type Plan = Readonly<Record<number, (home: Home) => Promise<void>>>

async function told(plan: Plan, settings: object): Promise<World> {
  const world = await World.create({ ...settings })
  const home = new Home(world)
  await home.start()
  for (const [index, event] of EVENTS.entries()) {
    await plan[index]?.(home)
    await home.tell(event)
  }
  await home.stop()
  return world
}

const TITLE = 'newer receivers, killed ones, ended ones and none at all: the traces are those of one that is left alone'

test.each([{}, { keep: { rate: 1 } }])(`${TITLE} (%j)`, async settings => {
  const alone = await told({}, settings)
  const plan: Plan = {
    3: home => home.start(),
    6: home => home.end('SIGKILL'),
    8: home => home.start(),
    12: home => home.end('SIGTERM'),
    15: home => home.start(),
    20: home => home.start(),
  }
  const troubled = await told(plan, settings)
  expect(treesOf(troubled.logged)).toBe(treesOf(alone.logged))
  expect(treesOf(once(troubled.collected))).toBe(treesOf(alone.logged))
  expect(treesOf(alone.logged)).toContain('hermes.turn.final_status=completed')
})
