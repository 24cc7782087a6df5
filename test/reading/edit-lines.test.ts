import { describe, expect, test } from 'vitest'
import { editLines } from '../../src/reading/argument-lines.ts'

describe('an edit', () => {
  const [gone, added] = [
    { sign: '-', text: 'a' },
    { sign: '+', text: 'b' },
  ]
  test.each([
    [{ path: 'x', old_string: 'a', new_string: 'b' }, [gone, added]],
    [{ oldText: 'a', newText: 'b' }, [gone, added]],
    [{ path: 'x', old: 'a', new: 'b' }, [gone, added]],
    [{ path: 'x', old_string: '', new_string: 'b' }, [added]],
    [
      {
        edits: [
          { oldText: 'a', newText: '' },
          { oldText: '', newText: 'b' },
        ],
      },
      [gone, added],
    ],
    [{ operation: { type: 'update_file', path: 'x', diff: '-a\n+b' } }, [gone, added]],
    [{ command: ['apply_patch', '*** Begin Patch\n-a\n+b'] }, [{ sign: ' ', text: '*** Begin Patch' }, gone, added]],
    [
      { diff: '--- a/x\n+++ b/x\n-a\n+b' },
      [{ sign: ' ', text: '--- a/x' }, { sign: ' ', text: '+++ b/x' }, gone, added],
    ],
    [
      { changes: '<<<<<<< SEARCH\na\n=======\nb\n>>>>>>> REPLACE' },
      [
        { sign: ' ', text: '<<<<<<< SEARCH' },
        gone,
        { sign: ' ', text: '=======' },
        added,
        { sign: ' ', text: '>>>>>>> REPLACE' },
      ],
    ],
    [{ old_string: 'a' }, []],
    [{ command: 'echo a' }, []],
    [{ diff: [] }, []],
    ['text', []],
    [null, []],
  ])('is in %j', (value, expected) => {
    expect(editLines(value)).toEqual(expected)
  })
})
