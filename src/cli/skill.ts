import { command } from './options.ts';

export const skill = command({
  examples: ['automate skill', 'automate skill > .agents/skills/automate/SKILL.md'],
  async run({ allCommands, terminal }): Promise<undefined> {
    const { skillText } = await import('./skill-text.ts');
    await terminal.print(await skillText(await allCommands()));
  },
});
