import { expect, test } from 'vitest'
import { saveAtExit } from '../../src/wiring/exit.ts'

test('one plugin that fails to save at the exit keeps no other from it, and does not fail the process', () => {
  const before = process.listeners('exit')
  let isSaved = false
  const forget = [
    saveAtExit(() => {
      throw new Error('odd')
    }),
    saveAtExit(() => {
      isSaved = true
    }),
  ]
  const [added] = process.listeners('exit').filter(listener => !before.includes(listener))
  try {
    expect(() => added?.(0)).not.toThrow()
    expect(isSaved).toBe(true)
  } finally {
    for (const take of forget) take()
  }
})
