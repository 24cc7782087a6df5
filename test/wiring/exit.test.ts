import { expect, test } from 'vitest'
import { saveAtExit } from '../../src/wiring/exit.ts'

test('one plugin that fails to save at the exit keeps no other from it, and does not fail the process', () => {
  let isSaved = false
  const forget = [
    saveAtExit(() => {
      throw new Error('odd')
    }),
    saveAtExit(() => {
      isSaved = true
    }),
  ]
  // Another copy of the package in this process, say a built one, has one of the same name.
  const atExit = process.listeners('exit').filter(({ name }) => name === 'onExit')
  try {
    for (const listener of atExit) expect(() => listener(0)).not.toThrow()
    expect(isSaved).toBe(true)
  } finally {
    for (const take of forget) take()
  }
})
