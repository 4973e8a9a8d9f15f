import { render } from "preact";
import { App } from "./app";
import { readLink } from "./form/link";
import { follow } from "./service";
import { discover } from "./wallet/discovery";
import "./style.css";

discover();
follow();
// the form is drawn at once; a link that names tokens empties it now, and fills it as soon as they are known
void readLink(location.hash);
render(<App />, document.getElementById("app")!);
// a link that is opened while the page is; what the page itself writes there raises no event
addEventListener("hashchange", () => void readLink(location.hash));
