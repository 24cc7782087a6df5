/** The folder of this package. The published code is bundled into `dist/chunks`, which is as deep as this file in `src`. */
export const PACKAGE_FOLDER: URL = new URL('../../', import.meta.url)
