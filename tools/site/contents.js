// What the site has, in the order in which it is listed.
export const programs = ['sfcore', 'sfcore-crash', 'sfcore-fleet']

export const chapters = [
  {
    title: 'Begin',
    pages: [
      ['guide/install.html', 'Install'],
      ['guide/tour.html', 'Ten minutes with sfcore'],
    ],
  },
  {
    title: 'Tasks',
    pages: [
      ['guide/core.html', 'A core from production'],
      ['guide/hang.html', 'A live hang'],
      ['guide/editor.html', 'In the editor'],
      ['guide/program.html', 'From a program'],
      ['guide/crashes.html', 'As crash handler'],
      ['guide/fleet.html', 'For a fleet'],
      ['guide/toolchains.html', 'For toolchains'],
    ],
  },
  {
    title: 'Reference',
    pages: [
      ['commands/sfcore.html', 'Commands: sfcore'],
      ['commands/sfcore-crash.html', 'Commands: sfcore crash'],
      ['commands/sfcore-fleet.html', 'Commands: sfcore-fleet'],
      ['report.html', 'JSON of reports'],
      ['sframe-json.html', 'JSON of sections'],
      ['sframe-checks.html', 'Names of defects'],
      ['cause.html', 'Why a process crashed'],
      ['signature.html', 'Which crashes are one'],
      ['waits.html', 'What threads wait for'],
      ['goroutines.html', 'Goroutines'],
      ['diff.html', 'Two moments compared'],
      ['pictures.html', 'Pictures'],
      ['shrink.html', 'Minimal cores'],
      ['live.html', 'Live processes'],
      ['crash.html', 'Crashes'],
      ['fleet.html', 'The fleet'],
      ['editors.html', 'Editors'],
      ['plugin.html', 'The plugin'],
      ['delve.html', 'With delve'],
      ['sframe-gate.html', 'The gate'],
      ['sframe-survey.html', 'The survey'],
      ['sframe-habits.html', 'Habits of toolchains'],
      ['support.html', 'What is supported'],
      ['stability.html', 'What stays as it is'],
      ['release.html', 'Releases'],
      ['dependencies.html', 'Dependencies'],
    ],
  },
  {
    title: 'Background',
    pages: [
      ['ARCHITECTURE.html', 'Architecture'],
      ['RATIONALE.html', 'Why it is as it is'],
      ['robustness.html', 'Robustness'],
      ['performance.html', 'Performance'],
      ['field.html', 'Real programs'],
    ],
  },
]

for (const chapter of chapters) chapter.urls = chapter.pages.map(([url]) => url)
