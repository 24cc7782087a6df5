// The viewer's page: what runs in a browser, made a few small files with nothing from elsewhere.
import { copyFileSync, mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { build as bundle } from 'esbuild'
import { licensesOf } from './licenses.mjs'

const REPOSITORY = fileURLToPath(new URL('../', import.meta.url))
const SOURCE = join(REPOSITORY, 'src', 'viewer', 'page')
const COPIED = ['index.html', 'icon.svg']

/** @param folder gets `page.js`, `page.css`, what `page.js` loads when it is needed, and whose work is in them */
export async function buildPage(folder) {
  rmSync(folder, { recursive: true, force: true })
  mkdirSync(folder, { recursive: true })
  const { metafile } = await bundle({
    absWorkingDir: REPOSITORY,
    entryPoints: { page: 'src/viewer/page/main.tsx' },
    outdir: folder,
    bundle: true,
    splitting: true,
    chunkNames: 'part-[hash]',
    format: 'esm',
    platform: 'browser',
    target: 'es2022',
    minify: true,
    legalComments: 'none',
    charset: 'utf8',
    tsconfig: 'src/viewer/page/tsconfig.json',
    metafile: true,
    logLevel: 'warning',
  })
  await bundle({
    absWorkingDir: REPOSITORY,
    entryPoints: { page: 'src/viewer/page/page.css' },
    outdir: folder,
    bundle: true,
    minify: true,
    target: 'es2022',
    logLevel: 'warning',
  })
  for (const name of COPIED) copyFileSync(join(SOURCE, name), join(folder, name))
  writeFileSync(join(folder, 'licenses.txt'), licensesOf(REPOSITORY, Object.keys(metafile.inputs)))
}
